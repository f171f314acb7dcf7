#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets of the host are planted wherever a person keeps them; then every tool is used over a
link whose bytes are kept. None of them is found on the wire, in what the box's processes have in
memory, environment and descriptors, in the box's files, in engine or in a log."""
import base64
import contextlib
import itertools
import os
import re
import secrets
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import far

PLACES = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".npmrc",
          ".docker/config.json", ".git-credentials", ".config/ats/notes", "kept.txt")
VARIABLES = ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK",
             "DATABASE_URL")


class Recorder(far.Proxy):
    """Keeps what it carries."""
    kept = []

    @staticmethod
    def carry(a, b, _left):
        with contextlib.suppress(OSError):
            while True:
                data = a.recv(65536)
                if not data:
                    break
                Recorder.kept.append(data)
                b.sendall(data)


def plant(home):
    """name -> secret: files below HOME, variables of whoever starts brain."""
    planted = {}
    for name in PLACES:
        path = os.path.join(home.home, name)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        planted[name] = "planted-" + secrets.token_hex(20)
        with open(path, "w", encoding="ascii") as f:
            f.write("token = %s\n" % planted[name])
    for name in VARIABLES:
        planted[name] = home.env[name] = "planted-" + secrets.token_hex(20)
    return planted


def shapes(secret):
    """As it is, and as others write it; base64 at each of the three places in a longer text."""
    raw = secret.encode()
    yield raw
    yield raw.hex().encode()
    yield raw[::-1]
    for skip in range(3):
        yield base64.b64encode(raw[(3 - skip) % 3:])[:-4].rstrip(b"=")
    yield raw.decode().encode("utf-16-le")


def pattern(planted):
    return re.compile(b"|".join(re.escape(s) for v in planted.values() for s in shapes(v)))


def processes(*roots):
    """(what, bytes) of each process: memory, environment, command line."""
    for root in roots:
        for pid in ats.descendants(root) | {root}:
            who = "%s (%d)" % (ats.comm(pid), pid)
            with contextlib.suppress(OSError):
                for name in ("environ", "cmdline"):
                    with open("/proc/%d/%s" % (pid, name), "rb") as f:
                        yield who + " " + name, f.read()
                for page in ats.memory(pid):
                    yield who + " memory", page


def files(*tops):
    for top in tops:
        for root, _, names in os.walk(top):
            for name in names:
                path = os.path.join(root, name)
                with contextlib.suppress(OSError):
                    if os.path.isfile(path) and not os.path.islink(path):
                        with open(path, "rb") as f:
                            yield path, f.read()


def use_everything(home, mcp):
    """Each tool, with tries to reach what is planted."""
    ws = home.ws
    mcp.text("Write", file_path=ws + "/a.txt", content="one\ntwo\n")
    mcp.text("Edit", file_path=ws + "/a.txt", old_string="two", new_string="three")
    mcp.text("Read", file_path=ws + "/a.txt")
    mcp.text("Glob", pattern="**/*")
    mcp.text("LS", path=ws)
    for name in PLACES:
        path = os.path.join(home.home, name)
        mcp.tool("Read", file_path=path)
        mcp.tool("Grep", pattern="planted", path=path, output_mode="content")
        mcp.tool("Bash", command="cat '%s'; cp '%s' %s/stolen" % (path, path, ws))
    mcp.tool("Bash", command="env; cat /proc/*/environ /proc/*/cmdline; "
             "grep -ra planted /run /tmp /home /root /etc 2>/dev/null | head -c 100000")
    mcp.tool("Bash", command="env > env.txt; sleep 300", run_in_background=True)
    home.ctl("exec", "--", "sh", "-c", "env; cat", input="from stdin\n", code=0)


@ats.test("what the host keeps is nowhere on the other side", long=ats.WHOLLY)
def _(home):
    if os.geteuid() != 0:
        ats.skip("only root reads the memory of the box's processes")
    f = far.Far(home)           # as on another machine: its environment has none of them
    planted = plant(home)
    p = Recorder(home, f.path)
    home.configure({"sandbox": {"url": "unix:" + p.path}})
    mcp = home.mcp()
    mcp.initialize()
    use_everything(home, mcp)
    find = pattern(planted)
    engine = ats.find(home.brain_pid(), "ats-engine")
    ats.check(len(engine) == 1, engine)
    ats.check(sum(map(len, Recorder.kept)) > 2000, "nothing was recorded")
    box = {p for p in ats.descendants(f.proc.pid)}
    ats.check(len(box) > 6, "the box has %d processes" % len(box))
    state = os.path.join(home.state, "ats")
    wire = [("the wire", b"".join(Recorder.kept))]
    for what, data in itertools.chain(wire, processes(f.proc.pid, *engine),
                                      files(home.ws, state, home.run)):
        m = find.search(data)
        ats.check(m is None, "%s holds %.20s..." % (what, m and m.group()))


@ats.test("the search finds what is there", home=False)
def _():
    planted = {"x": "planted-" + secrets.token_hex(20)}
    find = pattern(planted)
    env = dict(os.environ, X=planted["x"])
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as p:
        p.stdin.write(planted["x"].encode() * 2)
        p.stdin.flush()
        p.stdout.read(10)
        seen = {what.split(") ")[1] for what, data in processes(p.pid) if find.search(data)}
        p.stdin.close()
    ats.equal(seen, {"environ", "memory"})
    for skip in range(3):
        text = base64.b64encode(b"abcdef"[:skip] + planted["x"].encode() + b"tail")
        ats.check(find.search(text), "base64 at %d" % skip)


ats.main()
