#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Glob against fd and bash's globstar, over generated trees; and LS against a listing."""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import toolrun
from toolrun import ats, put
from differences import Table

NAMES = ["a", "b", "ab", "a.c", "b.c", "ab.h", "a.b.c", ".hid", ".x.c", "foo", "foo.py", "x y.c",
         "[id].tsx", "\u00e4.c", "A.C", "build", "src", "a-b", "1", "12.c", "node_modules", "{x}",
         "a,b", "cafe\u0301.c", "n\u202fn.c"]
# The same meaning in all three.
PATTERNS = ["*", "*.c", "**/*.c", "**/*", "src/*", "src/**/*.c", "*/*.c", "**/a*", "?.c", "[ab].c",
            "[!a].c", "*.{c,h}", "**/*.{c,h,py}", "{src,build}/**/*", "a*b*", ".*", "**/.*", "*/*/*",
            "**/src/**/*", "{a,b}.{c,h}", "**/[a-f]*", "*.?", "a.c", "src/a.c", "**/*.b.*", "*[0-9]*",
            "**/*y*", "**/\u00e4*", "**/n*.c", "[[:alpha:]].c", "[[:digit:]]*"]


def make_tree(r, path, depth=0):
    """Files and directories of those names."""
    for _ in range(r.randint(3, 8)):
        name = os.path.join(path, r.choice(NAMES))
        if os.path.lexists(name):
            continue
        kind = r.random()
        if kind < 0.4 and depth < 4:
            os.mkdir(name)
            make_tree(r, name, depth + 1)
        elif kind < 0.45:
            os.symlink(r.choice(("a.c", "..", "none", "src")), name)
        else:
            put(name, b"x\n")


def ours(tools, top, pattern):
    text, is_error = tools(top, "Glob", pattern=pattern)
    if is_error and b"is not a directory" in text:
        return set()            # where the pattern's first name is a file
    ats.check(not is_error, text)
    if text.startswith(b"No files found"):
        return set()
    return {x for x in text.split(b"\n") if not x.startswith(b"(")}


def kept(top, names):
    """Of those names the regular files, and links to such below top."""
    found = set()
    for name in names:
        name = name.removeprefix(b"./")
        path = os.path.join(os.fsencode(top), name)
        real = os.path.realpath(path)
        if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
            continue                # through a link to a directory
        if os.path.isfile(real) and real.startswith(os.fsencode(top) + b"/"):
            found.add(name)
    return found


def bash(top, pattern):
    """What bash makes of the pattern; one without a slash is for any depth, as for Glob."""
    deep = pattern if "/" in pattern else "**/" + pattern
    script = "shopt -s globstar dotglob nullglob; printf '%%s\\0' %s" % deep.replace(" ", "\\ ")
    out = subprocess.run(["bash", "--norc", "-c", script], cwd=top, stdout=subprocess.PIPE,
                         check=True, env={**toolrun.CLEAN, "LC_ALL": "C.UTF-8"}).stdout
    return kept(top, out.split(b"\0")[:-1])


def fd(program, top, pattern):
    args = [program, "-u", "-0", "--type", "f", "--type", "l", "--glob", "--case-sensitive"]
    if "/" in pattern:
        args += ["--full-path", os.path.join(top, pattern)]
    else:
        args.append(pattern)
    out = subprocess.run(args, cwd=top, stdout=subprocess.PIPE, check=True,
                         env={**toolrun.CLEAN, "LC_ALL": "C.UTF-8"}).stdout
    return kept(top, out.split(b"\0")[:-1])


def against(tool, find):
    """Compares Glob with find(top, pattern)."""
    table, bad, same = Table(), [], 0
    tools = toolrun.Tools()
    first, count = int(os.environ.get("ATS_SEED", "0")), toolrun.rounds(2, 6)
    for seed in range(first, first + count):
        with toolrun.Scratch() as base:
            r = random.Random(seed)
            make_tree(r, base)
            for pattern in r.sample(PATTERNS, 14):
                got, want = ours(tools, base, pattern), find(base, pattern)
                if len(got) >= 100:
                    continue            # cut
                same += len(got & want)
                for name in sorted(got ^ want):
                    what = "more" if name in got else "missing"
                    if not table.explains(tool, what, "Glob %s" % pattern, name.decode()):
                        bad.append("tree %d: Glob %s: %r is %s" % (seed, pattern, name, what))
    tools.close()
    ats.check(not bad, "%d differences\n%s" % (len(bad), "\n".join(bad[:30])))
    ats.check(same > 10 * count, "only %d files agree" % same)
    print("# %d files agree" % same)


@toolrun.test("Glob finds what bash's globstar finds")
def _():
    toolrun.have("bash")
    against("bash", bash)


@toolrun.test("Glob finds what fd finds")
def _():
    program = toolrun.have("fdfind", "fd")
    against("fd", lambda top, pattern: fd(program, top, pattern))


@ats.test("LS lists what is there", home=False)
def _():
    tools = toolrun.Tools()
    for seed in range(20):
        with toolrun.Scratch() as base:
            make_tree(random.Random(seed), base)
            text, is_error = tools(base, "LS", path=base)
            ats.check(not is_error, text)
            want = sorted(os.fsencode(e.name) + (b"/" if e.is_dir(follow_symlinks=False) else b"")
                          for e in os.scandir(base))
            ats.equal(sorted(text.rstrip(b"\n").split(b"\n")[1:]), want, seed)
    tools.close()


ats.main()
