#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network: none, or by explicit wish the host's, and then of commands only."""
import os
import shutil
import socket
import threading

from box import Box
from roles import roles
from stages import ALL, ats, helper

PROBE = helper("probe")
NET = ("net=host",)


class Listener:
    """Sockets of the host that greet who comes: TCP on loopback, and an abstract name."""

    def __init__(self):
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.name = "ats-test-%d" % os.getpid()
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind("\0" + self.name)
        self.unix.listen(8)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                with self.tcp.accept()[0] as s:
                    s.sendall(b"hello\n")
            except OSError:
                return


HOST = Listener()


def each(name, options=()):
    def register(fn):
        for stage in ats.some(ALL):
            def run(stage=stage):
                with stage.box(options=options) as b:
                    fn(b, stage)
            ats.case("%s (%s)" % (name, stage.name), run, home=False)
        return fn
    return register


def tries(b, *names):
    shutil.copy(PROBE, b.path("probe"))
    os.chmod(b.path("probe"), 0o755)
    text = b.out("; ".join('echo "%s: $(./probe %s)"' % (n, n) for n in names))
    return dict(line.split(": ", 1) for line in text.splitlines())


def talk(b):
    return b.sh("exec 3<>/dev/tcp/127.0.0.1/%d && cat <&3" % HOST.port)


def netns(pid):
    return os.readlink("/proc/%d/ns/net" % pid)


@each("off is what nobody asks for")
def _(b, stage):
    ats.check(talk(b).error, "the host's loopback is in reach")
    ats.equal(b.confinement["net"], "netns" if stage.level == "namespaces" else "seccomp")
    ats.missing(b.confinement["gaps"], "metadata-ip")


@each("host: commands have it, and it is told", NET)
def _(b, stage):
    ats.equal(talk(b).text, "hello")
    v = b.confinement
    ats.equal((v["net"], v["verified"], v["level"]), ("host", True, stage.level))
    ats.contains(v["gaps"], "metadata-ip")
    ats.equal(b.hello.json["confinement"]["net"], "host")
    ats.contains(b.out("getent hosts localhost"), "localhost")


@each("host: sockets that are none of TCP and UDP stay barred", NET)
def _(b, stage):
    got = tries(b, "packet", "raw", "vsock", "alg", "mptcp", "netlink", "abstract " + HOST.name)
    for name, answer in got.items():
        # EBADF: no such socket was to be had, and the helper goes on with it.
        ats.matches(answer, "^refused (EPERM|EACCES)" if stage.level == "namespaces" else
                    "^refused (EPERM|EACCES|EBADF)", name)
    if stage.level != "namespaces":
        ats.matches(tries(b, "unix /run/x")["unix /run/x"], "^refused (EPERM|EBADF)")


@each("host: file workers and front have no network all the same", NET)
def _(b, stage):
    b.out("true")
    if stage.level != "namespaces":
        return          # their filters have no sockets, as ever
    mine = netns(os.getpid())
    found = roles(b)
    for name in ("zygote-read", "zygote-write", "ats-front", "zygote-shell"):
        pid, = found[name]      # their children, which may end meanwhile, are called otherwise
        ats.equal(netns(pid) == mine, name == "zygote-shell", name)


@each("host: names are resolved by the host's files, which stay as they are", NET)
def _(b, stage):
    b.out("cat /etc/resolv.conf > /dev/null; cat /etc/hosts > /dev/null")
    for f in ("/etc/hosts", "/etc/resolv.conf"):
        ats.check(b.sh("echo x >> %s" % f).error, f)


# resolv.conf as systemd-resolved leaves it, in a mount namespace of the test's own.
LINKED = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/resolve /run/etc &&
echo 'nameserver 192.0.2.7' > /run/systemd/resolve/stub-resolv.conf &&
cp -a /etc/. /run/etc && mount --bind /run/etc /etc && rm -f /etc/resolv.conf &&
ln -s ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf && exec "$@"
"""


@ats.test("host: a resolv.conf that is a link to /run", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("needs root to set the stage")
    with Box(None, NET, prefix=("/usr/bin/unshare", "-m", "/bin/sh", "-c", LINKED, "sh")) as b:
        ats.equal(b.out("cat /etc/resolv.conf; ls /run/systemd/resolve"),
                  "nameserver 192.0.2.7\nstub-resolv.conf")
        ats.check(b.sh("echo x >> /etc/resolv.conf").error, "written")


try:
    ats.main()
finally:
    shutil.rmtree(os.path.dirname(PROBE))
