# SPDX-License-Identifier: Apache-2.0
"""What a developer's programs take in the sandbox, against the same outside: a place to build in."""
import json
import os
import re
import shutil
import subprocess

from rig import ATSCTL, DRIVERS

# Each some hundred milliseconds of work: what starting a command takes counts little.
WORK = (        # figure, needs, command in a copy of the project, reach
    ("git status, 3,000 files", "git", "for i in $(seq 20); do git status --porcelain; done", 1.2),
    ("git add and commit", "git", "for i in $(seq 20); do echo $i >> d1/notes; git add -A; "
     "git -c user.name=b -c user.email=b@b commit -qm $i; done", 1.1),
    ("python, a program of many files", "python3", "for i in 1 2 3 4 5 6 7 8; do python3 walk.py; "
     "done", 1.1),
    ("node, the same", "node", "for i in 1 2 3 4 5; do node walk.mjs; done", 1.1),
    ("cc, 24 files one by one", "cc", "for i in $(seq 24); do cc -O1 -c -o o/$i.o d1/f$i.c; done",
     1.1),
    ("make -j2, 100 files", "make", "make -s clean; make -s -j2", 1.1),
)
MAKEFILE = """O := $(patsubst %.c,%.o,$(wildcard d1/*.c d2/*.c d3/*.c d4/*.c))
prog: $(O)
\tar rcs prog.a $(O)
%.o: %.c
\tcc -O1 -c -o $@ $<
clean:
\trm -f $(O) prog.a
"""
WALK_PY = """import hashlib, json, os
n = {}
for root, _, files in os.walk("."):
    if ".git" not in root:
        for f in files:
            with open(os.path.join(root, f), "rb") as h:
                n[f] = hashlib.sha256(h.read()).hexdigest()
with open("o/walk.json", "w") as f:
    json.dump(n, f)
"""
WALK_MJS = """import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
const n = {};
for (const d of readdirSync("."))
  if (/^d/.test(d))
    for (const f of readdirSync(d))
      n[f] = createHash("sha256").update(readFileSync(d + "/" + f)).digest("hex");
writeFileSync("o/walk.json", JSON.stringify(n));
"""


def project(path):
    os.makedirs(os.path.join(path, "o"))
    for d in range(1, 121):
        os.mkdir(os.path.join(path, "d%d" % d))
        for f in range(1, 26):
            with open(os.path.join(path, "d%d/f%d.c" % (d, f)), "w", encoding="ascii") as out:
                out.write("#include <stdio.h>\n#include <string.h>\n" + "".join(
                    "int f%d_%d_%d(const char *s) { return (int)strlen(s) + %d; }\n" %
                    (d, f, k, k) for k in range(8)))
    for name, text in (("Makefile", MAKEFILE), ("walk.py", WALK_PY), ("walk.mjs", WALK_MJS),
                       (".gitignore", "o/\n*.o\n*.a\n")):
        with open(os.path.join(path, name), "w", encoding="ascii") as out:
            out.write(text)
    if shutil.which("git"):
        for argv in (["init", "-q"], ["add", "-A"],
                     ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "first"]):
            subprocess.run(["git", "-C", path, *argv], check=True)


class Inside:
    FIGURES = ("inside_programs", "inside_reads")

    def inside_programs(self):
        places = {k: os.path.join(self.ws, "project-" + k) for k in ("in", "out")}
        for path in places.values():
            project(path)
        # As whoever owns it there: git asks.
        subprocess.run(["chown", "-R", "%d:%d" % (os.geteuid(), os.getegid()), self.ws], check=True)
        for name, needs, command, reach in WORK:
            if not shutil.which(needs):
                self.skip(name, "no " + needs)
                continue
            t = self.interleave({
                "in": [ATSCTL, "exec", "--", "sh", "-c", "cd %s && %s" % (places["in"], command)],
                "out": ["sh", "-c", "cd %s && %s" % (places["out"], command)]}, self.rounds(9))
            r = self.atsctl("exec", "--", "sh", "-c", "cd %s && set -e; %s" %
                            (places["in"], command), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
            if r.returncode != 0:
                raise ValueError("%s: %.300s" % (name, r.stderr))
            self.ratio(name + ", in the sandbox", t["in"], t["out"], "outside", reach)
        for path in places.values():
            shutil.rmtree(path)

    def inside_reads(self):
        """A tool alone, in a fresh process without any confinement, is toolrun."""
        tree = self.tree()
        if tree is None:
            self.skip("a whole Grep, confined", "no tree (tests/bench/setup)")
            return
        small = os.path.join(tree, "include")
        mcp = self.mcp("--workspace", tree)
        toolrun = os.path.join(DRIVERS, "toolrun")

        def alone(arguments):
            def once():
                r = subprocess.run([toolrun, "-r", "1", tree, "Grep", json.dumps(arguments)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
                return int(re.search(rb"(?m)^median (\d+) us", r.stderr).group(1)) / 1e6
            return once
        try:
            for name, arguments, reach in (
                    ("open and read, many small files", {
                        "pattern": "PM_RESUME", "path": small, "output_mode": "count"}, 1.15),
                    ("a whole Grep, kernel tree", {
                        "pattern": "PM_RESUME", "path": tree, "output_mode": "content"}, 1.08)):
                t = self.interleave({"ats": lambda a=arguments: mcp.call("Grep", a)[0],
                                     "alone": alone(arguments)}, self.rounds(15))
                self.ratio(name + ", confined", t["ats"], t["alone"], "unconfined", reach)
        finally:
            mcp.close()
