#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Without namespaces a command has Unix sockets of its own, and reaches nobody else's."""
import json
import os
import shutil
import socket
import subprocess
import tempfile

from bare import bare
from box import ats

HERE = os.path.dirname(os.path.abspath(__file__))
_dir = tempfile.mkdtemp(prefix="ats-own-sockets-")
PROGRAM = os.path.join(_dir, "own")
subprocess.run(["cc", "-static", "-pthread", "-O1", "-w", "-D_GNU_SOURCE", "-o", PROGRAM,
                os.path.join(HERE, "own_sockets.c")], check=True)


def place(b):
    shutil.copy(PROGRAM, b.path("own"))
    os.chmod(b.path("own"), 0o755)


class Host:
    """Sockets of somebody else, which anybody may connect to."""

    def __init__(self, b):
        self.abstract = "ats-test-%d" % os.getpid()
        self.outside = os.path.join(b.top, "sock")
        self.all = [self.at(socket.SOCK_STREAM, b.path("host")),
                    self.at(socket.SOCK_STREAM, self.outside),
                    self.at(socket.SOCK_STREAM, "\0" + self.abstract),
                    self.at(socket.SOCK_DGRAM, b.path("host.d"))]
        owner = os.stat(b.ws)
        for name in ("host", "host.d"):
            os.chown(b.path(name), owner.st_uid, owner.st_gid)

    @staticmethod
    def at(kind, name):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(name)
        if kind == socket.SOCK_STREAM:
            s.listen(16)
        if name[0] != "\0":
            os.chmod(name, 0o777)
        s.setblocking(False)
        return s

    def heard(self):
        """How many came."""
        n = 0
        for s in self.all:
            try:
                n += s.accept() is not None if s.type == socket.SOCK_STREAM else len(s.recv(1))
            except BlockingIOError:
                pass
        return n

    def close(self):
        for s in self.all:
            s.close()


@bare("a command's ends meet at its own socket, by any name")
def _(b, level):
    place(b)
    ats.equal(b.out("mkdir ws; cd ws; ../own own"), "done")


@bare("and in two processes and two calls, without what outlives them")
def _(b, level):
    place(b)
    ats.equal(b.out("./own serve & ./own ask; wait"), "hello")
    b.sh("rm served")
    server = b.start("Bash", command="./own serve")
    ats.equal(b.out("./own ask"), "hello")
    b.wait(server)
    ats.equal(b.out("rm served; ./own serve & (./own ask); wait"), "hello")


@bare("programs do what they do with them")
def _(b, level):
    if os.access("/usr/bin/python3", os.X_OK):
        ats.equal(b.out("/usr/bin/python3 -c '\n"
                        "from multiprocessing.connection import Listener, Client\n"
                        "import threading\n"
                        "l = Listener(\"p.sock\")\n"
                        "t = threading.Thread(target=lambda: Client(l.address).send(\"hi\"))\n"
                        "t.start(); print(l.accept().recv()); t.join(); l.close()'"), "hi")
    if os.access("/usr/bin/node", os.X_OK):
        ats.equal(b.out("/usr/bin/node -e '"
                        "const net = require(\"net\"), s = net.createServer(c => c.pipe(c));"
                        "s.listen(\"n.sock\", () => { const c = net.connect(\"n.sock\");"
                        "c.on(\"data\", d => { console.log(String(d)); c.end(); s.close() });"
                        "c.write(\"echo\") })'"), "echo")


@bare("nobody else's socket is reached")
def _(b, level):
    place(b)
    host = Host(b)
    try:
        ats.equal(b.out("./own others %s %s" % (host.outside, host.abstract)), "done")
        ats.equal(host.heard(), 0)
        ats.equal(b.out("./own race 100"), "done")
        ats.equal(host.heard(), 0)
    finally:
        host.close()


@bare("who connects from outside finds nobody")
def _(b, level):
    place(b)
    server = b.start("Bash", command="./own serve")
    ats.until(lambda: os.path.exists(b.path("served")), "the file")
    with socket.socket(socket.AF_UNIX) as s:
        ats.equal(s.connect_ex(b.path("served")), 111)
    ats.equal(b.out("./own ask"), "hello")
    b.wait(server)


@bare("a flood of them keeps no order waiting, and the next call has its own")
def _(b, level):
    place(b)
    call = b.start("Bash", command="./own flood", ms=600000)
    ats.until(lambda: os.path.exists(b.path("flooded")), "a flood")
    b.link.send("control.cancel", call, {})
    ats.check(b.wait(call).error, "it ended by itself")
    ats.equal(b.out("mkdir -p ws; cd ws; ../own own"), "done")


@bare("the socket for tools of the host is the one path beside its own that is connected to")
def _(b, level):
    b.link.send("control.tools", 0, {"tools": [{"name": "gh__x", "description": "d",
                                                "inputSchema": {"type": "object"}}]})
    folder = os.path.join(b.state, "tools")
    ats.equal(b.out("echo $ATS_RELAY_SOCKET; ls %s" % folder).split(),
              [folder + "/relay.sock", "mcp.json", "relay.sock", "tools.json"])
    ask = ("import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
           "s.connect(sys.argv[1])\nprint(s.recv(99)[20:])")
    b.out("cat > ask.py <<'EOF'\n%s\nEOF" % ask)
    ats.contains(b.out("python3 ask.py $ATS_RELAY_SOCKET"), "gh__x")
    b.out("ln -s $ATS_RELAY_SOCKET link")
    for other in ("link", "$ATS_RELAY_SOCKET/", "%s/./relay.sock" % folder,
                  "%s/../tools/relay.sock" % folder, "$(dirname $ATS_RELAY_SOCKET)/x"):
        r = b.sh("python3 ask.py %s" % other)
        ats.check(r.error and "gh__x" not in r.text, (other, r.text))
    # With one user for all Landlock leaves modes to whoever owns the file: its own loss.
    for change in ("rm -f", "mv -t .", "touch", *(("chmod 0",) if level != "landlock" else ())):
        b.sh("for f in %s/*; do %s $f; done; touch %s/x" % (folder, change, folder))
    ats.equal(b.out("ls %s" % folder).split(), ["mcp.json", "relay.sock", "tools.json"])
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": {"name": "gh__x"}})
    b.out("cat > shim.py <<'EOF'\n"
          "import subprocess as s\n"
          "p = s.Popen([%r, 'shim'], stdin=s.PIPE, stdout=s.PIPE)\n"
          "p.stdin.write(b'%s\\n')\np.stdin.flush()\nprint(p.stdout.readline())\nEOF"
          % (ats.program("ats-hands"), call))
    lines = b.start("Bash", command="python3 shim.py")
    q = b.link.expect("call.gateway")
    ats.equal(q.json["session"], "s-000000000001")
    b.link.send("result", q.call, {"outcome": "done"}, b"from the host")
    ats.contains(b.wait(lines).text, "from the host")

ats.main()
