# SPDX-License-Identifier: Apache-2.0
"""The search tools without confinement, in one process, for the differential tests: a client
of tests/bench/toolrun -b. And what those tests share."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

TOOLRUN = ats.program(os.path.join("bench", "toolrun"))
# As if nothing were configured on this machine; HOME is set by who needs one.
CLEAN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
         "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}


class Tools:
    """tool(root, "Grep", pattern=...) -> (text as bytes, whether it is an error)."""

    def __init__(self, home=None, processors=2):
        if not os.path.exists(TOOLRUN):
            ats.skip("%s was not built" % TOOLRUN)
        args = [TOOLRUN, "-t", str(processors), "-b"] + (["-H", home] if home else [])
        self.proc = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     env={**ats.test_env(), **CLEAN})

    def __call__(self, root, tool, **arguments):
        line = b"%s\t%s\t%s\n" % (os.fsencode(root), tool.encode(),
                                  json.dumps(arguments, ensure_ascii=False).encode(
                                      "utf-8", "surrogateescape"))
        self.proc.stdin.write(line)
        self.proc.stdin.flush()
        head = self.proc.stdout.readline().split()
        ats.check(len(head) == 2, "toolrun died at %.500r" % line)
        return self.proc.stdout.read(int(head[0])), head[1] == b"1"

    def close(self):
        self.proc.stdin.close()
        ats.equal(self.proc.wait(), 0, "toolrun's exit status")
        self.proc.stdout.close()


class Scratch:
    """A directory for the time of a with; kept, and named, when the body raises."""

    def __enter__(self):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="ats-diff-"))
        return self.path

    def __exit__(self, kind, value, trace):
        if kind is not None and os.environ.get("ATS_KEEP"):
            print("# kept: %s" % self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def have(*names):
    """The first of the programs that is installed, or a skip."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    ats.skip("no %s" % " or ".join(names))
    return None


def rounds(few, more):
    """How many seeds to take: ATS_ROUNDS, or more, or few in make check. For tests of ours: test()."""
    return int(os.environ.get("ATS_ROUNDS", ats.rounds(few, more)))


def test(name):
    """Registers a test that takes few rounds in make check, and more in the rest."""
    return ats.test(name, home=False, long=ats.PARTLY)


def put(path, data):
    """Writes bytes, making the directories above."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
