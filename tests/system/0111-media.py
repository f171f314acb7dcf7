#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Read shows as images: pages of PDFs, drawn by a program under a shell monitor, and outputs of
notebooks. The program is scripted (bin/pdftoppm of the workspace, first in PATH) where what it does
matters, and the real one where that is installed."""
import base64
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==")
# The second line of the document says what to do; stdin is the document.
SCRIPT = r"""#!/bin/sh
while [ $# -gt 1 ]; do
	case $1 in -f) first=$2;; -l) last=$2;; esac
	shift
done
{ read -r _; read -r what; } 2>/dev/null
page="cat ${0%/*}/page"
case $what in
pages*) for i in $(seq "$first" "$last"); do [ "$i" -gt "${what#pages}" ] || $page; done;;
garbage) head -c 50000 /dev/zero;;
flood) $page; yes;;
big) yes;;
hang) $page; setsid sleep 987 & sleep 987;;
fail) $page; echo 'it burns' >&2; exit 3;;
die) kill -9 $$;;
limits) echo "$(ulimit -t) $(ulimit -v) $(ulimit -f) $(ulimit -c) $(ls /proc | grep -c '^[0-9]')" >&2; exit 1;;
esac
"""


def pdf(pages):
    """A document with a line on each page."""
    kids = " ".join("%d 0 R" % (4 + 2 * i) for i in range(pages))
    objs = ["<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Count %d /Kids [ %s ] >>" % (pages, kids),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for i in range(pages):
        text = "BT /F1 24 Tf 72 700 Td (Page %d) Tj ET" % (i + 1)
        objs.append("<< /Type /Page /Parent 2 0 R /MediaBox [ 0 0 612 792 ] /Contents %d 0 R "
                    "/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * i))
        objs.append("<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text))
    out, offsets = "%PDF-1.4\n", []
    for n, o in enumerate(objs, 1):
        offsets.append(len(out))
        out += "%d 0 obj\n%s\nendobj\n" % (n, o)
    out += "xref\n0 %d\n0000000000 65535 f \n%s" % (
        len(objs) + 1, "".join("%010d 00000 n \n" % o for o in offsets))
    return (out + "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objs) + 1, out.index("xref\n0 "))).encode()


class Box:
    def __init__(self, home, path=None):
        self.home, self.n = home, 0
        self.hands = ats.Hands(home, *([] if path is None else ["env=PATH=" + path]))
        self.hands.link.hello_as_brain()

    def start(self, deadline=30000, **arguments):
        self.n += 1
        self.hands.link.send("call.tool", self.n, {
            "name": "Read", "input": arguments, "deadline_ms": deadline, "session": "s-1",
            "attempt": 0, "ctx": {"cwd": self.home.ws}})
        return self.n

    def read(self, **arguments):
        """(kinds, texts, the result)"""
        r = self.hands.link.expect("result", call=self.start(**arguments), timeout=60)
        blocks = r.json.get("blocks") or [{"type": "text", "len": len(r.payload)}]
        texts, at = [], 0
        for b in blocks:
            part = r.payload[at:at + b["len"]]
            at += b["len"]
            texts.append(part.decode() if b["type"] == "text" else b["mime"])
        ats.equal(at, len(r.payload))
        return [b["type"] for b in blocks], texts, r


def scripted(home):
    home.write("bin/pdftoppm", SCRIPT, 0o755)
    home.write("bin/page", GIF)
    return Box(home, os.path.join(home.ws, "bin") + ":/usr/local/bin:/usr/bin:/bin")


def order(home, what):
    home.write("a.pdf", "%%PDF-1.4\n%s\n" % what)


@ats.test("a PDF's pages are images, and it counts as read")
def _(home):
    box = scripted(home)
    order(home, "pages3")
    kinds, texts, r = box.read(file_path="a.pdf")
    ats.equal(kinds, ["text", "image"] * 3 + ["text"])
    ats.equal(texts[1::2], ["image/gif"] * 3)
    ats.equal(texts[2::2], ["page 2:", "page 3:", "[The document ends with page 3.]"])
    ats.contains(texts[0], "a.pdf, page 1:")
    ats.equal(r.json["ctx_delta"]["reads"][0]["path"], os.path.join(home.ws, "a.pdf"))
    ats.equal(len(r.json["ctx_delta"]["reads"][0]["sha256"]), 64)
    kinds, texts, r = box.read(file_path="a.pdf", pages="2")
    ats.equal(kinds, ["text", "image", "text"])
    ats.contains(texts[0], "page 2:")
    kinds, texts, r = box.read(file_path="a.pdf", pages="2-1")
    ats.equal((r.json["code"], kinds), ("bad_field", ["text"]))
    order(home, "pages99")
    kinds, texts, r = box.read(file_path="a.pdf", pages="1-20")
    ats.equal(kinds, ["text", "image"] * 20 + ["text"])


@ats.test("what draws may do anything: clear errors, and it is gone")
def _(home):
    box = scripted(home)
    for what, code, text in (
            ("garbage", "invalid", "not an image for each page: it is no image"),
            ("big", "too_big", "a page has more than the"),
            ("die", "invalid", "it was ended by SIGKILL"),
            ("nothing", "invalid", "it printed nothing")):
        order(home, what)
        kinds, texts, r = box.read(file_path="a.pdf")
        ats.equal((kinds, r.json.get("code")), (["text"], code), texts)
        ats.contains(texts[0], text)
        ats.check("ctx_delta" not in r.json, r.json)
    for what, text in (("fail", "[Page 2 could not be drawn by pdftoppm: it ended with status 3 "
                                "(it says: it burns).]"),
                       ("flood", "[The result is full. Go on with pages \"2-10\".]")):
        order(home, what)
        kinds, texts, r = box.read(file_path="a.pdf")
        ats.equal((kinds, texts[2]), (["text", "image", "text"], text))
    order(home, "hang")
    kinds, texts, r = box.read(file_path="a.pdf", deadline=1500)
    ats.equal(kinds, ["text", "image", "text"])
    ats.contains(texts[2], "longer than this call may")
    call = box.start(file_path="a.pdf")
    ats.until(lambda: ats.find(box.hands.proc.pid, "sleep"), "it draws")
    box.hands.link.send("control.cancel", call, {})
    ats.equal(box.hands.link.expect("result", call=call).json["code"], "cancelled")
    ats.until(lambda: not ats.find(box.hands.proc.pid, "sleep"), "all of it is gone")


@ats.test("what draws is under limits, in a process namespace of its own")
def _(home):
    box = scripted(home)
    order(home, "limits")
    _, texts, _ = box.read(file_path="a.pdf")
    ats.contains(texts[0], "it says: 50 2097152 131072 0 ")
    ats.check(int(texts[0].split("it says: ")[1].split()[4].rstrip(").")) < 9, texts)


@ats.test("without a renderer the package is named")
def _(home):
    os.makedirs(os.path.join(home.ws, "bin"))
    os.symlink("/bin/sh", os.path.join(home.ws, "bin", "sh"))
    box = Box(home, os.path.join(home.ws, "bin"))
    home.write("a.pdf", pdf(3))
    kinds, texts, r = box.read(file_path="a.pdf")
    ats.equal((kinds, r.json.get("is_error")), (["text"], True))
    ats.contains(texts[0], "a PDF document of %d bytes and 3 pages" % len(pdf(3)))
    ats.contains(texts[0], "poppler-utils")


@ats.test("the real pdftoppm, through the whole chain")
def _(home):
    if shutil.which("pdftoppm", path="/usr/bin:/bin") is None:
        ats.skip("pdftoppm (poppler-utils) is not installed")
    home.write("a.pdf", pdf(12))
    home.write("bad.pdf", b"%PDF-1.4\n" + os.urandom(3000))
    home.write("huge.pdf", pdf(1).replace(b"0 0 612 792", b"0 0 9999999 99999"))
    mcp = home.mcp()
    mcp.initialize()
    r = mcp.tool("Read", {"file_path": "a.pdf", "pages": "11-"}, timeout=60)
    ats.equal([c["type"] for c in r["content"]], ["text", "image", "text", "image", "text"], r)
    ats.contains(r["content"][0]["text"], "page 11 of 12:")
    ats.equal(r["content"][1]["mimeType"], "image/jpeg")
    r = mcp.tool("Read", {"file_path": "a.pdf", "pages": "13"}, timeout=60)
    ats.check(r["isError"] and "Wrong page range" in r["content"][0]["text"], r)
    r = mcp.tool("Read", {"file_path": "bad.pdf"}, timeout=60)
    ats.check(r["isError"] and len(r["content"]) == 1, r)
    r = mcp.tool("Read", {"file_path": "huge.pdf"}, timeout=60)
    ats.equal([c["type"] for c in r["content"]], ["text", "image", "text"], r)
    r = mcp.tool("Write", {"file_path": "a.pdf", "content": "x"})
    ats.check(not r.get("isError"), r)		# it was read


@ats.test("a notebook's images are blocks, through the whole chain")
def _(home):
    cell = {"cell_type": "code", "source": "plot()", "outputs": [
        {"data": {"text/plain": ["<Figure>"], "image/png": base64.b64encode(GIF).decode()}},
        {"data": {"image/png": "iVBORw0KGgo="}}]}
    home.write("n.ipynb", json.dumps({"cells": [cell], "nbformat": 4}))
    mcp = home.mcp()
    mcp.initialize()
    r = mcp.tool("Read", {"file_path": "n.ipynb"})
    ats.equal([c["type"] for c in r["content"]], ["text", "image", "text"])
    ats.equal(r["content"][1]["mimeType"], "image/gif")
    ats.equal(base64.b64decode(r["content"][1]["data"]), GIF)
    ats.contains(r["content"][2]["text"], "[an image, not shown: it ends before its last chunk]")


ats.main()
