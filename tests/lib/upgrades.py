# SPDX-License-Identifier: Apache-2.0
"""Programs of which ats-hands can be exchanged for another file, and sandboxes on every kind of
link whose front is replaced by it."""
import atexit
import json
import os
import shutil
import socket
import struct
import tempfile

import ats
import ats_base
import far

PROGRAMS = ("ats-brain", "ats-engine", "ats-hands", "atsctl")
KINDS = ("stdio", "unix", "tcp", "tls", "dials")

_built = ats_base.BUILD
_dir = tempfile.mkdtemp(prefix="ats-programs-")
atexit.register(shutil.rmtree, _dir, ignore_errors=True)
os.chmod(_dir, 0o755)
for _name in PROGRAMS:
    shutil.copy(os.path.join(_built, _name), _dir)
ats_base.BUILD = _dir
HANDS = os.path.join(_dir, "ats-hands")

with open(HANDS, "rb") as _f:
    _original = _f.read()


def _note(data):
    """Where the build id of this ELF file is."""
    at = data.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    if at < 0:
        ats.skip("ats-hands has no build id")
    return at + 16


def install(data, mode=0o755, owner=None, path=HANDS):
    """Another file in the place of ats-hands, as a package manager would."""
    new = path + ".new"
    with open(new, "wb") as f:
        f.write(data)
    os.chmod(new, mode)
    if owner is not None:
        os.chown(new, owner, owner)
    os.replace(new, path)


def original():
    install(_original)


def newer(n=1):
    """The same program of another build: (data, the build that it tells)."""
    at = _note(_original)
    build = bytes([(b + n) & 0xff for b in _original[at:at + 8]])
    return _original[:at] + build + _original[at + 8:], build.hex()


def of_other_tables():
    """A name of the protocol is another one."""
    ats.check(b"control.drain" in _original, "no such text")
    return newer()[0].replace(b"control.drain", b"control.brain")


def that_hangs():
    """It does nothing from its first instruction on: pause(2) for ever."""
    if os.uname().machine != "x86_64":
        ats.skip("its first instruction is known for x86_64 only")
    entry = struct.unpack_from("<Q", _original, 24)[0]
    at, size, n = (struct.unpack_from("<Q", _original, 32)[0],
                   *struct.unpack_from("<HH", _original, 54))
    for i in range(n):
        kind, _, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", _original, at + i * size)
        if kind == 1 and vaddr <= entry < vaddr + filesz:
            code = b"\xb8\x22\0\0\0\x0f\x05\xeb\xf7"
            where = offset + entry - vaddr
            return _original[:where] + code + _original[where + len(code):]
    raise ats.Failure("no entry")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Place:
    """A brain and its sandbox, which stands."""

    def __init__(self, home, kind="stdio", **conf):
        self.home, self.kind, self.far = home, kind, None
        original()
        if kind == "unix":
            self.far = far.Far(home)
            conf["sandbox"] = {"url": "unix:" + self.far.path}
        elif kind == "dials":
            url = "tls://127.0.0.1:%d" % free_port()
            conf["sandbox"] = {"url": "listen:" + url}
            self.net(conf, ["--connect", url])
        elif kind != "stdio":
            url = "%s://127.0.0.1:%d" % (kind, free_port())
            conf["sandbox"] = {"url": url}
            self.net(conf, ["--listen", url])
        home.configure(conf)
        home.ctl("exec", "--", "true", code=0)

    def net(self, conf, args):
        self.home.configure(conf)
        r = self.home.ctl("sandbox", "enroll")
        if b"TLS" in r.stderr:
            ats.skip("built without TLS")
        self.far = far.NetFar(self.home, r.stdout.decode(), args)
        if args[0] == "--listen":
            ats.until(lambda: "listening" in self.far.log(), "hands listens")

    def box(self):
        boxes = json.loads(self.home.ctl("--json", "sandbox", "ls", code=0).stdout)["sandboxes"]
        ats.equal(len(boxes), 1)
        return boxes[0]

    def root(self):
        return self.far.proc.pid if self.far else self.home.brain_pid()

    def fronts(self):
        return [p for p in sorted(ats.descendants(self.root())) if ats.comm(p) == "ats-front"]

    def upgrade(self):
        """The structured answer."""
        r = self.home.ctl("--json", "sandbox", "upgrade", timeout=60)
        if r.returncode != 0:
            raise ats.Failure("no upgrade: %r %r" % (r.stdout, r.stderr))
        return json.loads(r.stdout)

    def refused(self):
        """What people read when there was none; the front is the one that it was."""
        before = self.fronts()
        r = self.home.ctl("sandbox", "upgrade", code=1, timeout=60)
        ats.until(lambda: self.fronts() == before, "no other front")
        return r.stderr.decode()

    def log(self):
        if self.far:
            return self.far.log()
        return self.home.ctl("sandbox", "logs", self.box()["id"], code=0).stdout.decode()
