#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read, Write, Edit, MultiEdit, NotebookEdit and LS in their real workers: every path of them under the filter that
kills, with the view, the uid and Landlock of the box."""
import json
import os
import struct
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


class Box:
    """Hands by itself; read-state is kept as the engine keeps it."""

    def __init__(self, home):
        self.home, self.reads, self.n = home, {}, 0
        self.hands = ats.Hands(home)
        self.hands.link.hello_as_brain()

    def run(self, tool, attempt=0, **arguments):
        self.n += 1
        self.hands.link.send("call.tool", self.n, {
            "name": tool, "input": arguments, "deadline_ms": 30000, "session": "s-1",
            "attempt": attempt, "ctx": {"cwd": self.home.ws, "reads": list(self.reads.values())}})
        r = self.hands.link.expect("result", call=self.n)
        ats.equal(r.json["outcome"], "done", r.json)
        for read in r.json.get("ctx_delta", {}).get("reads", []):
            self.reads[read["path"]] = read
        return r

    def text(self, tool, **arguments):
        r = self.run(tool, **arguments)
        ats.check(not r.json.get("is_error"), r.payload.decode())
        return r.payload.decode()

    def error(self, code, tool, **arguments):
        r = self.run(tool, **arguments)
        ats.equal(r.json.get("code"), code, r.payload.decode())
        return r.payload.decode()


def raw(home, name):
    with open(os.path.join(home.ws, name), "rb") as f:
        return f.read()


def put(home, name, data):
    with open(os.path.join(home.ws, name), "wb") as f:
        f.write(data)


@ats.test("a link to nothing is not suggested for itself")
def _(home):
    box = Box(home)
    os.symlink("nowhere", os.path.join(home.ws, "link"))
    os.symlink("/tmp/nowhere-%d" % os.getpid(), os.path.join(home.ws, "far"))
    for name in ("link", "far"):
        text = box.error("not_found", "Read", file_path=name)
        ats.contains(text, "is a symbolic link to something that does not exist here")
        ats.missing(text, "Did you mean")


@ats.test("write, read, edit, edit again")
def _(home):
    box = Box(home)
    ats.contains(box.text("Write", file_path="a/b/c.txt", content="one\ntwo\n"), "Created")
    ats.equal(box.text("Read", file_path="a/b/c.txt"), "1\tone\n2\ttwo")
    ats.contains(box.text("Edit", file_path="a/b/c.txt", old_string="two", new_string="2"),
                 "-two\n+2")
    box.text("Edit", file_path="a/b/c.txt", old_string="one", new_string="$& \\1")
    ats.equal(raw(home, "a/b/c.txt"), b"$& \\1\n2\n")
    ats.contains(box.text("LS", path="a"), "\nb/\n")
    ats.equal(os.listdir(os.path.join(home.ws, "a/b")), ["c.txt"])
    st = os.stat(os.path.join(home.ws, "a/b/c.txt"))
    ats.equal(st.st_uid, os.stat(home.ws).st_uid)


@ats.test("a file of the workspace keeps mode, xattr and its hard link")
def _(home):
    box = Box(home)
    put(home, "f", b"old\n")
    path = os.path.join(home.ws, "f")
    os.chmod(path, 0o750)
    try:
        os.setxattr(path, "user.ats", b"v")
    except OSError:
        pass
    before = os.listxattr(path)
    box.text("Read", file_path="f")
    box.text("Edit", file_path="f", old_string="old", new_string="new")
    ats.equal(os.stat(path).st_mode & 0o7777, 0o750)
    ats.equal(os.listxattr(path), before)
    os.link(path, os.path.join(home.ws, "g"))
    ats.contains(box.text("Edit", file_path="f", old_string="new", new_string="newer"),
                 "in place")
    ats.equal(raw(home, "g"), b"newer\n")
    ats.equal(sorted(os.listdir(home.ws)), ["f", "g"])


@ats.test("links, odd names and other kinds of files")
def _(home):
    box = Box(home)
    put(home, "real", b"text\n")
    os.symlink(os.path.join(home.ws, "real"), os.path.join(home.ws, "abs"))
    os.symlink("/etc/passwd", os.path.join(home.ws, "out"))
    os.mkfifo(os.path.join(home.ws, "fifo"))
    put(home, "a\u202fb", b"x\n")
    with open(os.fsencode(home.ws) + b"/bad\xff", "wb") as f:
        f.write(b"y\n")
    ats.equal(box.text("Read", file_path="abs"), "1\ttext")
    box.text("Edit", file_path="abs", old_string="text", new_string="changed")
    ats.check(os.path.islink(os.path.join(home.ws, "abs")))
    ats.equal(raw(home, "real"), b"changed\n")
    ats.contains(box.error("escapes", "Read", file_path="out"), "/etc/passwd")
    box.error("escapes", "Write", file_path="out", content="x")
    names = box.text("LS", path=".").split("\n")
    ats.check("a\u202fb" in names and "bad\ufffd" in names, names)
    ats.equal(box.text("Read", file_path="a\u202fb"), "1\tx")
    ats.equal(box.text("Read", file_path="bad\ufffd"), "1\ty")
    ats.contains(box.error("not_found", "Read", file_path="a b"), "a\u202fb")
    start = time.monotonic()
    for name in ("fifo", "/dev/stdin", "/dev/zero", "/proc/kmsg", "/proc/self/mem"):
        r = box.run("Read", file_path=name)
        ats.check(r.json.get("is_error"), name)
    ats.check(time.monotonic() - start < 1, "slow")


@ats.test("protected names are refused, existing or not, and leave nothing behind")
def _(home):
    box = Box(home)
    os.makedirs(os.path.join(home.ws, "sub"))
    before = sorted(os.listdir(home.ws))
    for name in (".git/hooks/pre-commit", ".git/config", ".mcp.json", ".claude/settings.json",
                 "sub/.envrc", "~/.bashrc", "sub/.git", ".vscode/tasks.json"):
        box.error("denied", "Write", file_path=name, content="x")
    ats.equal(sorted(os.listdir(home.ws)), before)
    ats.equal(os.listdir(os.path.join(home.ws, "sub")), [])


@ats.test("an image is a block of its bytes, a cut one is text")
def _(home):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(b"\0\xff\xff\xff")) + chunk(b"IEND", b""))
    box = Box(home)
    put(home, "i.png", png)
    r = box.run("Read", file_path="i.png")
    ats.equal(r.json["blocks"], [{"type": "image", "mime": "image/png", "len": len(png)}])
    ats.equal(r.payload, png)
    put(home, "i.png", png[:-20])
    r = box.run("Read", file_path="i.png")
    ats.check(r.json.get("is_error") and not r.json.get("blocks"), r.json)


@ats.test("large files: pages, an edit, and clear ends")
def _(home):
    box = Box(home)
    lines = [b"line %06d\n" % i for i in range(1, 800001)]
    lines[500000] = b"the needle\n"
    put(home, "big", b"".join(lines))
    text = box.text("Read", file_path="big", offset=500001, limit=1)
    ats.contains(text, "500001\tthe needle")
    box.text("Edit", file_path="big", old_string="the needle", new_string="The Needle")
    lines[500000] = b"The Needle\n"
    ats.check(raw(home, "big") == b"".join(lines), "other bytes changed")
    with open(os.path.join(home.ws, "sparse"), "wb") as f:
        f.truncate(10 << 30)
    box.error("bad_utf8", "Read", file_path="sparse")
    box.error("too_big", "Edit", file_path="sparse", old_string="a", new_string="b")
    put(home, "line", b"x" * (20 << 20))
    ats.contains(box.text("Read", file_path="line"), "line cut")


@ats.test("read-state and retries")
def _(home):
    box = Box(home)
    put(home, "f", b"one two\n")
    box.error("not_read", "Edit", file_path="f", old_string="one", new_string="1")
    box.text("Read", file_path="f")
    old = dict(box.reads)
    box.text("Edit", file_path="f", old_string="one", new_string="1")
    box.reads = dict(old)
    ats.contains(box.text("Edit", attempt=1, file_path="f", old_string="one", new_string="1"),
                 "already")
    put(home, "f", b"1 2\n")
    box.error("changed", "Edit", file_path="f", old_string="1", new_string="3")
    ats.equal(raw(home, "f"), b"1 2\n")


@ats.test("MultiEdit: all edits or none, and it knows its own work")
def _(home):
    box = Box(home)
    put(home, "f", b"one\r\ntwo\r\n")
    edits = [{"old_string": "one\ntwo", "new_string": "1\n2"},
             {"old_string": "2", "new_string": "two", "replace_all": "true"}]
    box.error("not_read", "MultiEdit", file_path="f", edits=edits)
    box.text("Read", file_path="f")
    old = dict(box.reads)
    ats.contains(box.error("no_match", "MultiEdit", file_path="f", edits=[
        *edits, {"old_string": "nowhere", "new_string": "x"}]), "edits[2]")
    ats.equal(raw(home, "f"), b"one\r\ntwo\r\n")
    text = box.text("MultiEdit", file_path="f", edits=edits)
    ats.contains(text, "@@")
    ats.equal(raw(home, "f"), b"1\r\ntwo\r\n")
    box.reads = dict(old)
    ats.contains(box.text("MultiEdit", attempt=1, file_path="f", edits=edits), "already")
    box.text("MultiEdit", file_path="d/new", edits=[
        {"old_string": "", "new_string": "a b"}, {"old_string": "b", "new_string": "c"}])
    ats.equal(raw(home, "d/new"), b"a c")
    box.error("denied", "MultiEdit", file_path=".mcp.json", edits=[
        {"old_string": "", "new_string": "{}"}])
    ats.contains(box.error("bad_field", "MultiEdit", file_path="f", edits=[
        {"old_string": "a"}]), "edits[0]: new_string")


@ats.test("NotebookEdit: one cell changes, all other bytes stay")
def _(home):
    cell = {"cell_type": "code", "execution_count": 4, "id": "first", "metadata": {},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["x\n"]}],
            "source": ["print('x')"]}
    text = {"cell_type": "markdown", "id": "second", "metadata": {"mine": 1.0},
            "source": ["# A"]}
    book = {"cells": [cell, text], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    box = Box(home)

    def of(*cells):
        return (json.dumps({**book, "cells": list(cells)}, indent=1) + "\n").encode()
    put(home, "n.ipynb", of(cell, text))
    box.error("not_read", "NotebookEdit", notebook_path="n.ipynb", cell_id="first",
              new_source="a\nb")
    ats.contains(box.text("Read", file_path="n.ipynb"), 'cell id="first"')
    box.text("NotebookEdit", notebook_path="n.ipynb", cell_id="first", new_source="a\nb")
    new = {**cell, "execution_count": None, "outputs": [], "source": ["a\n", "b"]}
    ats.equal(raw(home, "n.ipynb"), of(new, text))
    old = dict(box.reads)
    said = box.text("NotebookEdit", notebook_path="n.ipynb", cell_id="cell-1",
                    edit_mode="insert", cell_type="markdown", new_source="B")
    cells = json.loads(raw(home, "n.ipynb"))["cells"]
    ats.equal([c["id"] for c in cells][:2], ["first", "second"])
    ats.contains(said, cells[2]["id"])
    ats.equal(raw(home, "n.ipynb"), of(new, text, {
        "cell_type": "markdown", "id": cells[2]["id"], "metadata": {}, "source": ["B"]}))
    after, box.reads = dict(box.reads), old
    ats.contains(box.text("NotebookEdit", attempt=1, notebook_path="n.ipynb",
                          cell_id="cell-1", edit_mode="insert", cell_type="markdown",
                          new_source="B"), "already")
    box.reads = after
    box.text("NotebookEdit", notebook_path="n.ipynb", cell_id=cells[2]["id"],
             edit_mode="delete", new_source="")
    ats.equal(raw(home, "n.ipynb"), of(new, text))
    box.error("no_match", "NotebookEdit", notebook_path="n.ipynb", cell_id="none",
              new_source="x")


@ats.test("through the whole chain: the engine knows which file each tool names")
def _(home):
    book = {"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["x"]}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    put(home, "n.ipynb", json.dumps(book, indent=1).encode())
    put(home, "f", b"one two\n")
    mcp = home.mcp()
    mcp.initialize()
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]
    ats.contains(mcp.error("MultiEdit", file_path="f", edits=edits), "has not been read")
    ats.contains(mcp.error("NotebookEdit", notebook_path="n.ipynb", cell_id="a",
                           new_source="y"), "has not been read")
    mcp.text("Read", file_path="f")
    mcp.text("Read", file_path="n.ipynb")
    mcp.text("MultiEdit", file_path="f", edits=edits)
    mcp.text("Edit", file_path="f", old_string="1 2", new_string="3")
    for source in ("y", "z"):
        mcp.text("NotebookEdit", notebook_path="n.ipynb", cell_id="a", new_source=source)
    mcp.text("NotebookEdit", notebook_path="n.ipynb", edit_mode="insert", new_source="1")
    ats.equal(raw(home, "f"), b"3\n")
    cells = json.loads(raw(home, "n.ipynb"))["cells"]
    ats.equal([c["source"] for c in cells], [["1"], ["z"]])
    ats.contains(mcp.error("MultiEdit", file_path="f", edits=[{"old_string": "a"}]), "edits[0]")


@ats.test("edits of one file that are asked for at once are a chain")
def _(home):
    put(home, "f", b"".join(b"k%02d;\r\n" % i for i in range(40)))
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Read", file_path="f")
    ids = [mcp.send("tools/call", {"name": "Edit", "arguments": {
        "file_path": "./f" if i % 2 else os.path.join(home.ws, "f"),
        "old_string": "k%02d;" % i, "new_string": "K%02d;" % i}}) for i in range(40)]
    for i in ids:
        r = mcp.answer(i)["result"]
        ats.check(not r.get("isError"), r)
    ats.equal(raw(home, "f"), b"".join(b"K%02d;\r\n" % i for i in range(40)))
    # another session's are not: they are refused, and nothing is lost
    other = home.mcp("--session", "other")
    other.initialize()
    other.text("Read", file_path="f")
    pairs = [(m, m.send("tools/call", {"name": "Edit", "arguments": {
        "file_path": "f", "old_string": "K%02d;" % i, "new_string": "done%02d;" % i}}))
        for i, m in enumerate([mcp, other] * 10)]
    won = [not m.answer(i)["result"].get("isError") for m, i in pairs]
    ats.check(any(won), won)
    for i, ok in enumerate(won):
        ats.equal(b"done%02d;" % i in raw(home, "f"), ok)


ats.main()
