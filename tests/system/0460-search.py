#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Grep, Glob, LS and Read on awkward trees through the whole chain, and what holds for every
tool: bounded memory, links that leave, names that are no text."""
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

MIB = 1 << 20


def mcp_of(home):
    mcp = home.mcp()
    mcp.initialize()
    return mcp


def own(home, path):
    if home.uid is not None:
        os.chown(path, home.uid, home.uid, follow_symlinks=False)


def names(text):
    return {line for line in text.split("\n") if line and not line.startswith("(")}


def found(text, name):
    return any(line.endswith(name) for line in text.split("\n"))


def peak(home):
    """The largest anonymous memory of any process of the chain, in bytes."""
    most = 0
    for pid in ats.descendants(home.brain_pid()):
        try:
            with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
                m = re.search(r"RssAnon:\s+(\d+)", f.read())
        except OSError:
            continue
        most = max(most, int(m.group(1)) << 10 if m else 0)
    return most


@ats.test("one unreadable directory does not hide the rest", users=True)
def _(home):
    home.write("a/x.md", "needle\n")
    home.write("locked/y.md", "needle\n")
    home.write("z/z.md", "needle\n")
    locked = os.path.join(home.ws, "locked")
    os.chmod(locked, 0)
    mcp = mcp_of(home)
    try:
        text = mcp.text("Glob", pattern="**/*.md")
        ats.check(found(text, "a/x.md") and found(text, "z/z.md"), text)
        ats.contains(text, "locked")
        text = mcp.text("Grep", pattern="needle")
        ats.check(found(text, "x.md") and found(text, "z.md"), text)
        ats.contains(text, "locked")
    finally:
        os.chmod(locked, 0o700)


@ats.test("ignore files as git has them; a path that is named is searched", users=True)
def _(home):
    for name, text in ((".gitignore", "*.log\n!keep.log\nbuild/\n/top\n"),
                       ("sub/.gitignore", "inner\n!special.log\n"),
                       ("a.log", "needle\n"), ("keep.log", "needle\n"), ("build/b.txt", "needle\n"),
                       ("top", "needle\n"), ("sub/top", "needle\n"), ("sub/inner", "needle\n"),
                       ("sub/special.log", "needle\n"), ("sub/c.log", "needle\n"),
                       (".hidden", "needle\n"), ("excluded.txt", "needle\n"),
                       ("seen.txt", "needle\n")):
        home.write(name, text)
    git = ["git", "-c", "safe.directory=*", "-C", home.ws]
    try:
        subprocess.run([*git, "init", "-q"], check=True, stderr=subprocess.DEVNULL)
    except OSError:
        ats.skip("no git")
    home.write(".git/info/exclude", "excluded.txt\n")
    for root, dirs, files in os.walk(home.ws):
        for n in dirs + files:
            own(home, os.path.join(root, n))
    want = set(subprocess.run([*git, "ls-files", "-co", "--exclude-standard"], check=True,
                              stdout=subprocess.PIPE).stdout.decode().split())
    want -= {".gitignore", "sub/.gitignore"}
    mcp = mcp_of(home)
    text = mcp.text("Grep", pattern="needle", head_limit=0)
    got = {os.path.relpath(os.path.join(home.ws, x), home.ws) for x in names(text)
           if os.path.exists(os.path.join(home.ws, x))}
    ats.equal(got, want, text)
    for name in ("a.log", "build", "build/b.txt", "excluded.txt"):
        ats.missing(mcp.text("Grep", pattern="needle", path=name).lower(), "no match", name)
    ats.check(found(mcp.text("Glob", pattern="**/*.log"), "a.log"), "Glob takes no notice of them")
    ats.equal(mcp.text("Read", file_path="a.log"), "1\tneedle")


@ats.test("modes of Grep, its limits, and errors that show where", users=True)
def _(home):
    home.write("f.txt", "".join("line %d\n" % i for i in range(1000)))
    home.write("crlf.txt", "end\r\nend\r\n")
    home.write("bin", b"needle\0needle\n")
    mcp = mcp_of(home)
    text = mcp.text("Grep", pattern="^line 9", output_mode="content", **{"-n": True})
    ats.contains(text, "line 9")
    text = mcp.text("Grep", pattern="line", output_mode="content", head_limit=10)
    ats.equal(len([x for x in text.split("\n") if re.search(r"line \d", x)]), 10, text)
    ats.contains(text, "there is more")
    text = mcp.text("Grep", pattern="line", output_mode="content", head_limit=5, offset=990)
    ats.contains(text, "line 990")
    ats.contains(mcp.text("Grep", pattern="line", output_mode="count"), "1000")
    ats.contains(mcp.text("Grep", pattern="end$", output_mode="count"), "2")
    ats.contains(mcp.text("Grep", pattern="needle"), "bin")
    for bad in ("(", "[a", "a{2,1}", "(?P<x", "*"):
        ats.check(mcp.error("Grep", pattern=bad), bad)
    ats.contains(mcp.error("Grep", pattern="x", type="nonsense"), "nonsense")
    ats.contains(mcp.error("Grep", pattern="x", glob="[a"), "[a")
    ats.contains(mcp.error("Grep", pattern="x", path="none"), "none")
    ats.matches(mcp.text("Grep", pattern="nowhere-x").lower(), "no (match|file)")
    for _ in range(3):
        ats.equal(mcp.text("Grep", pattern="line 5", output_mode="content"),
                  mcp.text("Grep", pattern="line 5", output_mode="content"))


@ats.test("sparse files, long lines and a hundred thousand matches keep memory bounded",
          users=True)
def _(home):
    home.write("sparse", b"")
    os.truncate(os.path.join(home.ws, "sparse"), 10 << 30)
    with open(os.path.join(home.ws, "line"), "wb") as f:
        for _ in range(200):
            f.write(b"x" * MIB)
    own(home, os.path.join(home.ws, "line"))
    home.write("many", b"match here\n" * 100000)
    mcp = mcp_of(home)
    began, most = time.monotonic(), 0
    for tool, args in (
            ("Read", {"file_path": "sparse"}), ("Read", {"file_path": "line"}),
            ("Edit", {"file_path": "sparse", "old_string": "a", "new_string": "b"}),
            ("Edit", {"file_path": "line", "old_string": "xxy", "new_string": "b"}),
            ("Grep", {"pattern": "match", "output_mode": "content", "head_limit": 0,
                      "path": "many"}),
            ("Grep", {"pattern": "x{5}$", "output_mode": "content", "path": "line"}),
            ("Grep", {"pattern": "zzz", "path": "sparse"}),
            ("Glob", {"pattern": "*"}), ("LS", {"path": "."})):
        id = mcp.send("tools/call", {"name": tool, "arguments": args})
        while id not in mcp.answers:
            try:
                m = mcp.message(0.05)
                mcp.answers[m["id"]] = m
            except ats.Failure:
                ats.check(time.monotonic() - began < 100, "no answer: %s %r" % (tool, args))
            most = max(most, peak(home))
        text = mcp.answers.pop(id)["result"]["content"][0]["text"]
        ats.check(0 < len(text) <= MIB, (tool, len(text)))
    print("# %.1f s, at most %.1f MiB private in one process" % (
        time.monotonic() - began, most / MIB))
    ats.small(most, 128 * MIB, "memory of one process")


@ats.test("only regular files inside: an error at once, never a hang", users=True)
def _(home):
    mcp = mcp_of(home)
    mcp.text("Bash", command="mkfifo fifo; ln -s fifo to-fifo; ln -s /etc/passwd out; "
             "ln -s /etc etc; ln -s loop loop; ln -s real in; echo text > real; mkdir d")
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(home.ws, "sock"))
    began = time.monotonic()
    for path in ("fifo", "to-fifo", "sock", "/dev/stdin", "/dev/zero", "/dev/tty", "/proc/kmsg",
                 "/proc/self/mem", "/proc/self/environ", "out", "etc/passwd", "loop", "d",
                 "../../../etc/passwd", "/etc/shadow", home.state, home.ws + "-evil/x",
                 "/run/ats/spill/none", "", "a\nb", "x" * 5000, "~root/.bashrc", "/proc/1/root/etc"):
        ats.check(mcp.error("Read", file_path=path), path)
        ats.check(mcp.error("Edit", file_path=path, old_string="a", new_string="b"), path)
    for path in ("out", "etc/new", "../new", "/etc/new", "/tmp/../etc/new", "fifo", "d"):
        ats.check(mcp.error("Write", file_path=path, content="x"), path)
    for path in ("etc", "/etc", "/"):
        ats.check(mcp.error("LS", path=path), path)
        ats.check(mcp.error("Grep", pattern="root", path=path), path)
        ats.check(mcp.error("Glob", pattern="*", path=path), path)
    for text in (mcp.text("Grep", pattern="root:"), mcp.text("Glob", pattern="**/passwd")):
        ats.missing(text, "passwd:")
        ats.check(not found(text, "/passwd"), text)
    spent = time.monotonic() - began
    ats.check(spent < 20, "slow: %.1f s" % spent)
    ats.equal(mcp.text("Read", file_path="in"), "1\ttext")
    s.close()


@ats.test("names that are no text, decomposed, with odd spaces: from Glob into Read", users=True)
def _(home):
    odd = [b"a\xe2\x80\xafb.txt", b"cafe\xcc\x81.txt", b"bad\xff.txt", b"sp ace.txt", b"-n.txt",
           "\u4f60.txt".encode(), b"q'\"$.txt", b"[x].txt", b"star*.txt"]
    for name in odd:
        path = os.path.join(os.fsencode(home.ws), name)
        with open(path, "wb") as f:
            f.write(b"needle\n")
        own(home, path)
    mcp = mcp_of(home)
    listed = names(mcp.text("Glob", pattern="*.txt"))
    ats.equal(len(listed), len(odd), listed)
    for name in listed:
        ats.equal(mcp.text("Read", file_path=name), "1\tneedle", name)
    text = mcp.text("Grep", pattern="needle")
    ats.equal(len([x for x in text.split("\n") if x.endswith(".txt")]), len(odd), text)


ats.main()
