#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches that could take all memory or for ever: what the process took is measured, and a
tree changes while it is searched."""
import os
import re
import resource
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import toolrun
from toolrun import ats, put

MIB = 1 << 20
PEAK = 16 * MIB


def once(top, tool, json, processors=4):
    """Runs a tool in a process of its own. Returns (text, peak of its memory in bytes)."""
    if not os.path.exists(toolrun.TOOLRUN):
        ats.skip("%s was not built" % toolrun.TOOLRUN)
    p = subprocess.run([toolrun.TOOLRUN, "-m", "-t", str(processors), top, tool, json],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                       env={**ats.test_env(), **toolrun.CLEAN})
    m = re.search(rb"VmHWM:\s+(\d+) kB", p.stderr)
    ats.check(p.returncode in (0, 1) and m, "exit status %r: %r" % (p.returncode, p.stderr))
    return p.stdout, int(m.group(1)) << 10


def links(top, dirs, files, data):
    """dirs times files names of one file: as good as files, and soon made."""
    put(os.path.join(top, "one"), data)
    for d in range(dirs):
        os.mkdir(os.path.join(top, "d%d" % d))
        for i in range(files):
            os.link(os.path.join(top, "one"), os.path.join(top, "d%d" % d, "file-%05d.txt" % i))


@ats.test("a hundred thousand matches, twenty thousand files: memory stays small", home=False)
def _():
    with toolrun.Scratch() as top:
        links(top, 100, 200, b"match here\n" * 5)
        put(os.path.join(top, "many"), b"match here\n" * 100000)
        for tool, json, part in (
                ("Grep", '{"pattern":"match","head_limit":0}', b"Found 20002 files"),
                ("Grep", '{"pattern":"match","head_limit":0,"output_mode":"count"}',
                 b"matches in 20002 files"),
                ("Grep", '{"pattern":"match","head_limit":0,"output_mode":"content"}',
                 b"the result is full"),
                ("Grep", '{"pattern":"match","output_mode":"content"}', b"there is more"),
                ("Grep", '{"pattern":"\\\\w+ \\\\w+","output_mode":"content","-C":3,'
                 '"head_limit":0}', b"the result is full"),
                ("Grep", '{"pattern":"match","head_limit":5,"offset":20000}', b"20001-20002"),
                ("Glob", '{"pattern":"**/*.txt"}', b"of 20000 files")):
            text, peak = once(top, tool, json)
            ats.check(part in text[:400] + text[-400:], (json, text[:200], text[-200:]))
            print("# %5.1f MiB: %s %s" % (peak / MIB, tool, json))
            ats.small(peak, PEAK, json)


@ats.test("a sparse file of 10 GiB, a line of 40 MiB", home=False)
def _():
    with toolrun.Scratch() as top:
        put(os.path.join(top, "sparse"), b"")
        os.truncate(os.path.join(top, "sparse"), 10 << 30)
        put(os.path.join(top, "line"), b"x" * (40 * MIB) + b"needle" + b"\n")
        for json, part in (('{"pattern":"zzz"}', b"sparse"),
                           ('{"pattern":"needle","output_mode":"content"}', b"bytes cut]"),
                           ('{"pattern":"\\\\w+$"}', b"line")):
            text, peak = once(top, "Grep", json)
            ats.contains(text, part, json)
            ats.check(b"bytes cut" not in text or b"41943040 bytes cut] needle" in text, text)
            ats.check(len(text) < 4000, len(text))
            print("# %5.1f MiB: %s" % (peak / MIB, json))
            ats.small(peak, 24 * MIB, json)


@ats.test("an expression that explodes is stopped, and the answer says so", home=False)
def _():
    with toolrun.Scratch() as top:
        for i in range(100):
            put(os.path.join(top, "f%d" % i), b"a" * 60 + b"!\n")
        text, _ = once(top, "Grep", '{"pattern":"a+$"}')
        ats.contains(text, b"No matches found")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        for json in ('{"pattern":"(a|aa)+$"}', '{"pattern":"(a|aa)+$","multiline":true}',
                     '{"pattern":"(?:a*)*$","output_mode":"content"}'):
            text, _ = once(top, "Grep", json)
            ats.contains(text, b"too many steps", json)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        print("# %.2f s of processor" % spent)
        ats.check(spent < 60, spent)


@ats.test("symlinks in circles, names of any bytes, directories nobody may enter", home=False)
def _():
    with toolrun.Scratch() as top:
        put(os.path.join(top, "a/b/c.txt"), b"needle\n")
        os.symlink("..", os.path.join(top, "a/b/up"))
        os.symlink(".", os.path.join(top, "a/self"))
        os.symlink("loop", os.path.join(top, "loop"))
        os.symlink("/", os.path.join(top, "root"))
        for name in (b"bad\xff.txt", b"new\nline.txt", "e\u0301.txt".encode(), b"\xe2\x80\xaf.txt"):
            put(os.path.join(os.fsencode(top), name), b"needle\n")
        os.mkdir(os.path.join(top, "locked"), 0)
        text, _ = once(top, "Grep", '{"pattern":"needle"}')
        ats.contains(text, b"Found 5 files")
        text, _ = once(top, "Glob", '{"pattern":"**/*.txt"}')
        for name in (b"a/b/c.txt", b"bad\xff.txt", "e\u0301.txt".encode()):
            ats.contains(text.split(b"\n"), name)


@ats.test("directories that come, go and lose their rights while they are searched", home=False)
def _():
    with toolrun.Scratch() as top:
        put(os.path.join(top, "stays/x.txt"), b"needle\n")
        done = threading.Event()

        def stir():
            n = 0
            while not done.is_set():
                path = os.path.join(top, "d%d" % (n % 7))
                n += 1
                try:
                    put(os.path.join(path, "e/f/g.txt"), b"needle\n")
                    put(os.path.join(path, "e/.gitignore"), b"*.o\n")
                    os.chmod(os.path.join(path, "e"), 0o755 if n % 3 else 0)
                    os.rename(path, path + "-moved")
                    os.chmod(os.path.join(path + "-moved", "e"), 0o755)
                    shutil.rmtree(path + "-moved")
                except OSError:
                    shutil.rmtree(path, ignore_errors=True)

        thread = threading.Thread(target=stir)
        thread.start()
        try:
            tools = toolrun.Tools(processors=4)
            for _ in range(150):
                for tool, args in (("Grep", {"pattern": "needle"}), ("Glob", {"pattern": "**/*.txt"})):
                    text, is_error = tools(top, tool, **args)
                    ats.check(not is_error, text)
                    ats.contains(text, b"stays/x.txt", tool)
            tools.close()
        finally:
            done.set()
            thread.join()


ats.main()
