#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools of the host in a sandbox: the files and the socket that commands find, what they cannot
do to these, calls over a lost link, and hostile programs on the socket."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

TOOLS = [{"name": "gh__issue", "description": "d", "inputSchema": {"type": "object"},
          "annotations": {"readOnlyHint": True}, "timeoutMs": 5000}]
S = "s-000000000001"

# A program on the socket: sends what its arguments say, prints what comes until it ends.
PEER = """
import json, os, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["ATS_RELAY_SOCKET"])
def frame(t, k, call, obj):
    b = json.dumps(obj).encode() if not isinstance(obj, bytes) else obj
    return struct.pack(">IBBHQI", 20 + len(b), t, k, 0, call, len(b)) + b
def take(n):
    data = b""
    while len(data) < n:
        d = s.recv(n - len(data))
        if not d:
            sys.exit("the end")
        data += d
    return data
def recv():
    head = take(20)
    n, t, k, _, call, jn = struct.unpack(">IBBHQI", head)
    data = head + take(n - 20)
    return t, k, call, json.loads(data[20:20 + jn]), data[20 + jn:].decode()
def ask(call, **kw):
    s.sendall(frame(1, 5, call, {"name": "gh__issue", "input": {}, "key": "k%d" % call, **kw}))
"""


class Box(ats.Hands):
    def __init__(self, home, *options):
        super().__init__(home, *options)
        self.link.hello_as_brain()
        self.calls = 0

    def tools(self, tools):
        self.link.send("control.tools", 0, {"tools": tools})

    def start(self, command, session=S):
        self.calls += 1
        self.link.send("call.tool", self.calls, {
            "name": "Bash", "input": {"command": command}, "ctx": {"cwd": self.home.ws},
            "deadline_ms": 60000, "session": session, "keep": True})
        return self.calls

    def peer(self, code):
        self.home.write("peer.py", PEER + code)
        return self.start("python3 peer.py")

    def wait(self, call):
        f = self.link.expect("result", call=call)
        return f.payload.decode()

    def sh(self, command, session=S):
        return self.wait(self.start(command, session))


def mcp(*lines):
    """A command that gives these to the shim, and waits for as many answers."""
    text = "\n".join(json.dumps({"jsonrpc": "2.0", **x}) for x in lines)
    n = sum("id" in x for x in lines)
    return ("coproc S { $(python3 -c 'import json,os;c=json.load(open(os.environ[\"ATS_MCP_CONFIG\"]))"
            "[\"mcpServers\"][\"ats-tools\"];print(c[\"command\"],*c[\"args\"])'); }\n"
            "cat <<'EOF' >&${S[1]}\n%s\nEOF\n"
            "for i in $(seq %d); do read -r l <&${S[0]}; echo \"$l\"; done" % (text, n))


@ats.test("without tools there are no files and no words of them")
def _(home):
    h = Box(home)
    ats.equal(h.sh("env | grep ^ATS_; ls /run/ats/tools").strip(), "relay.sock")
    h.tools(TOOLS)
    ats.equal(h.sh("env | grep -c ^ATS_; ls /run/ats/tools").split(),
              ["4", "mcp.json", "relay.sock", "tools.json"])
    h.tools([])
    ats.equal(h.sh("env | grep ^ATS_; ls /run/ats/tools").strip(), "relay.sock")


@ats.test("commands find specs, configuration and their session, and can change none", users=True)
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    other = "s-00000000000f"
    ats.equal(h.sh("echo $ATS_SESSION_ID", other).strip(), other)
    specs = json.loads(h.sh("cat $ATS_TOOLS_SPECS"))
    ats.equal(specs, [{"name": "gh__issue", "description": "d", "inputSchema": {"type": "object"},
                       "kind": "callback", "timeoutMs": 5000}])
    config = json.loads(h.sh("cat $ATS_MCP_CONFIG"))
    ats.equal(config, {"mcpServers": {"ats-tools": {
        "command": "/run/ats/ats-hands", "args": ["shim"], "env": {
            "ATS_TOOLS_SPECS": "/run/ats/tools/tools.json",
            "ATS_RELAY_SOCKET": "/run/ats/tools/relay.sock"}}}})
    ats.equal(h.sh("(cd /run/ats/tools; for f in tools.json mcp.json relay.sock ../ats-hands; do "
                   "rm -f $f; mv $f x; ln -sf /etc/passwd $f; chmod 777 $f; : > $f; done 2>/dev/null; "
                   "touch x; mkdir y; ls) 2>/dev/null").split()[-3:],
              ["mcp.json", "relay.sock", "tools.json"])
    ats.equal(json.loads(h.sh("cat $ATS_TOOLS_SPECS")), specs)
    ats.contains(h.sh("/run/ats/ats-hands -V"), "ats-hands ")


@ats.test("the shim of the configuration asks brain, and gives its answer")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    call = h.start(mcp({"id": 0, "method": "initialize", "params": {}},
                       {"id": 1, "method": "tools/call",
                        "params": {"name": "gh__issue", "arguments": {"a": 1}}}))
    q = h.link.expect("call.gateway")
    ats.equal((q.json["name"], q.json["input"], q.json["session"]), ("gh__issue", {"a": 1}, S))
    ats.check(q.json["key"].endswith(".%d" % q.call) and q.json["key"].startswith("h-"), q)
    h.link.send("result", q.call, {"outcome": "done"}, b"made")
    lines = [json.loads(x) for x in h.wait(call).splitlines()]
    ats.equal(lines[1], {"jsonrpc": "2.0", "id": 1, "result": {
        "content": [{"type": "text", "text": "made"}]}})


@ats.test("a payload of brain's goes to who asked, not into a program's stdin of the same id")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    h.link.send("call.exec", 1, {
        "argv": ["/run/ats/ats-hands", "shim"], "ctx": {"cwd": home.ws}, "session": S,
        "window": 65536, "want_stdin": True})
    h.link.expect("control.window")
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gh__issue"}}\n'
    h.link.send("event.stdin", 1, {"offset": 0}, line)
    q = h.link.expect("call.gateway")
    ats.equal(q.call, 1)
    h.link.send("result", 1, {"outcome": "done"}, b"for the peer")
    ats.contains(h.link.expect("event.stdout").payload.decode(), "for the peer")
    h.link.send("event.stdin", 1, {"offset": len(line), "eof": True})
    ats.equal(h.link.expect("result", call=1).json["exit_code"], 0)


@ats.test("over a lost link the same key is asked again, and the answer arrives")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    call = h.peer("recv(); ask(7); ask(8); print(recv()); print(recv())\n")
    a, b = h.link.expect("call.gateway"), h.link.expect("call.gateway")
    h.link.send("result", b.call, {"outcome": "done"}, b"b")
    h.link.close()
    h.link = h.connect()
    h.link.hello_as_brain(epoch=2)
    again = h.link.expect("call.gateway")
    ats.equal((again.call, again.json["key"], again.json["input"]),
              (a.call, a.json["key"], a.json["input"]))
    h.link.send("result", again.call, {"outcome": "done"}, b"a")
    text = h.wait(call)
    ats.contains(text, "(3, 0, 8, {'outcome': 'done'}, 'b')")
    ats.contains(text, "(3, 0, 7, {'outcome': 'done'}, 'a')")


@ats.test("who goes away has its calls cancelled; a late answer ends nothing")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    call = h.peer("ask(7); recv(); s.sendall(frame(4, 5, 7, {'why': 'cancelled'})); recv()\n"
                  "ask(8); recv()\n")
    a = h.link.expect("call.gateway")
    ats.equal(h.link.expect("control.cancel").call, a.call)
    h.link.send("result", a.call, {"outcome": "done", "is_error": True, "code": "cancelled"})
    b = h.link.expect("call.gateway")
    h.link.send("event.progress", b.call, {"message": "not asked for"})
    h.link.send("control.cancel", call)
    gone = h.link.expect("control.cancel")
    ats.equal(gone.call, b.call)
    h.link.send("result", b.call, {"outcome": "done"}, b"late")
    h.link.send("event.progress", b.call, {"message": "late"})
    ats.equal(h.sh("echo on").strip(), "on")


@ats.test("an answer to what hands never asked ends the link")
def _(home):
    for name, obj in (("result", {"outcome": "done"}), ("event.progress", {"message": "x"})):
        for call in (0, 1, 99):
            h = Box(home)
            h.link.send(name, call, obj)
            ats.equal(h.link.expect("control.goodbye").json["code"], "out_of_state")
            h.close()
            os.unlink(h.listen_path)


@ats.test("what a peer sends wrong costs it its connection, and nobody else's")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    good = h.peer("""
import subprocess
bad = [b'\\xff' * 64, b'\\0' * 20, frame(1, 5, 0, {"name": "gh__issue", "input": {}, "key": "k"}),
       frame(1, 5, 1, {"name": "gh__issue"}), frame(1, 5, 1, b'{"name":"a","name":"b"}'),
       frame(1, 1, 1, {}), frame(3, 0, 1, {"outcome": "done"}), frame(4, 3, 0, {"seq": 1}),
       frame(4, 1, 0, {}), frame(2, 2, 1, {"offset": 0}), frame(9, 9, 9, {}),
       frame(1, 5, 1, b'{"name":"' + b'x' * 100 + b'","input":{},"key":"k"}'),
       struct.pack(">IBBHQI", 1 << 30, 1, 5, 0, 1, 8)]
ask(1)
one = s
for data in bad:
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["ATS_RELAY_SOCKET"])
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    while s.recv(65536):
        pass
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["ATS_RELAY_SOCKET"])
recv(); ask(5); ask(5)
while True:
    try:
        if not s.recv(65536):
            break
    except ConnectionResetError:
        break
s = one
print("tools", recv()[3]["tools"][0]["name"]); print(recv()[4])
""")
    q = h.link.expect("call.gateway")
    twice = h.link.expect("call.gateway")
    ats.equal(h.link.expect("control.cancel").call, twice.call)
    h.link.send("result", q.call, {"outcome": "done"}, b"fine")
    ats.equal(h.wait(good).split(), ["tools", "gh__issue", "fine"])


@ats.test("calls, peers and what is kept for them are bounded")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    call = h.peer("""
recv()
for i in range(1, 66):
    ask(i)
print("65th:", recv()[2:4])
others = []
for i in range(20):
    o = socket.socket(socket.AF_UNIX)
    o.connect(os.environ["ATS_RELAY_SOCKET"])
    others.append(o)
served = 0
for o in others:
    try:
        served += bool(o.recv(1))
    except ConnectionResetError:
        pass
print("served", served)
s = others[0]
s.recv(65536)
big = "x" * (1 << 20 >> 1)
for i in range(1, 41):
    ask(i, input={"x": big})
n, m = 0, None
while m is None or m[3].get("code") != "table_full":
    m = recv()
print("full", m[2], m[3]["outcome"])
""")
    text = h.wait(call)
    ats.contains(text, "65th: (65, {'outcome': 'not_started', 'is_error': True, "
                 "'code': 'table_full'})")
    ats.contains(text, "served 15")
    ats.contains(text, "full 32 not_started")


@ats.test("a peer that does not read is let go; another one is served")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    call = h.peer("""
recv()
for i in range(1, 11):
    ask(i)
slow = s
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["ATS_RELAY_SOCKET"])
recv(); ask(99)
print(recv()[4])
""")
    ids = [h.link.expect("call.gateway").call for _ in range(11)]
    for i in ids[:10]:
        h.link.send("result", i, {"outcome": "done"}, b"x" * (3 << 20))
    h.link.send("result", ids[10], {"outcome": "done"}, b"served")
    ats.contains(h.wait(call), "served")
    with open(os.path.join(home.state, "hands.log"), encoding="utf-8") as f:
        ats.contains(f.read(), "it does not read")


@ats.test("specs that cannot be read, or a directory that is full: the next result says so, once")
def _(home):
    h = Box(home)
    h.tools(TOOLS)
    h.tools([{"name": ""}])
    text = h.sh("ls /run/ats/tools; env | grep ^ATS_; true")
    ats.contains(text, "[Tools of the host cannot be used by commands: the specs that came from")
    ats.missing(text, "tools.json")
    ats.missing(h.sh("echo on"), "Tools of the host")
    h.tools(TOOLS)
    ats.equal(h.sh("ls /run/ats/tools").split(), ["mcp.json", "relay.sock", "tools.json"])


ats.main()
