# SPDX-License-Identifier: Apache-2.0
"""The table of calls: Read and LS."""
import base64
import json

from table import (Call, Mode, bash, case, directory, edit, fifo, link, listener, ls, put, read,
                   sparse)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg==")
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
PDF = (b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]"
       b"/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\n"
       b"trailer<</Root 1 0 R>>\n%%EOF\n")


def cells(*made, minor=5, indent=1, **extra):
    return json.dumps({"cells": list(made), "metadata": {"kernelspec": {"name": "x"}},
                       "nbformat": 4, "nbformat_minor": minor, **extra}, indent=indent) + "\n"


def code(source, id="a", outputs=(), **kw):
    return {"cell_type": "code", "execution_count": 1, "id": id, "metadata": {},
            "outputs": list(outputs), "source": source, **kw}


def markdown(source, id="m"):
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}


STREAM = {"name": "stdout", "output_type": "stream", "text": ["4\n"]}
LINES = "".join("line %d\n" % i for i in range(1, 3001))

# ---- text -----------------------------------------------------------------------------------
case("read.plain", "a text file", {"a": "one\ntwo\n"}, read("a"))
case("read.final-newline", "the line that is not there after the last newline",
     {"a": "one\n"}, read("a"), raw=("final-line",))
case("read.no-newline", "no newline at the end", {"a": "one\ntwo"}, read("a"))
case("read.empty", "an empty file", {"a": ""}, read("a"), raw=("empty",))
case("read.newlines", "newlines alone", {"a": "\n\n"}, read("a"), raw=("last-newline",))
case("read.crlf", "CRLF", {"a": "one\r\ntwo\r\n"}, read("a"))
case("read.lone-cr", "a CR alone is no line end", {"a": "one\rtwo\nthree\n"}, read("a"))
case("read.separators", "U+2028, FF and VT are no line ends", {"a": "a\u2028b\fc\vd\ne\n"},
     read("a"))
case("read.bom", "a BOM is not shown", {"a": b"\xef\xbb\xbfone\ntwo\n"}, read("a"))
case("read.utf16", "UTF-16 with a BOM", {"a": b"\xff\xfe" + "one\ntwo\n".encode("utf-16-le")},
     read("a"))
case("read.utf16-be", "big-endian UTF-16 with a BOM",
     {"a": b"\xfe\xff" + "one\ntwo\n".encode("utf-16-be")}, read("a"))
case("read.latin1", "bytes that are not UTF-8", {"a": b"caf\xe9 \x99\ntwo\n"}, read("a"))
case("read.nul", "a NUL in a text", {"a": "one\0two\n"}, read("a"))
case("read.escape", "an escape sequence", {"a": "\033[1mone\033[0m\n"}, read("a"))
case("read.long-line", "a line of 5,000 characters", {"a": "x" * 5000 + "\ny\n"}, read("a"))
case("read.very-long-line", "a line of 60,000 characters", {"a": "x" * 60000 + "\ny\n"}, read("a"))
case("read.3000-lines", "more than 2000 lines", {"a": LINES}, read("a"))
case("read.300-kb", "more than 256 KB", {"a": ("y" * 99 + "\n") * 3000}, read("a"))
case("read.sparse", "10 GB without a byte (33)", {"a": sparse(10 << 30)}, read("a"))
case("read.svg", "SVG is text", {"a.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>\n"},
     read("a.svg"))

# ---- lines -------------------------------------------------------------------------------------
case("read.range", "offset and limit", {"a": LINES}, read("a", offset=10, limit=3),
     raw=("range",))
case("read.range-strings", "offset and limit as strings", {"a": LINES},
     read("a", offset="10", limit="3"))
case("read.range-end", "a range that ends at the last line", {"a": "1\n2\n3\n"},
     read("a", offset=2, limit=100))
case("read.offset-0", "offset 0", {"a": "1\n2\n3\n"}, read("a", offset=0, limit=2))
case("read.offset-1", "offset 1", {"a": "1\n2\n3\n"}, read("a", offset=1, limit=2))
case("read.offset-past", "an offset past the end", {"a": "1\n2\n3\n"}, read("a", offset=10))
case("read.offset-negative", "a negative offset", {"a": "1\n2\n3\n"}, read("a", offset=-1))
case("read.limit-0", "limit 0", {"a": "1\n2\n3\n"}, read("a", limit=0))
case("read.limit-fraction", "a limit with a fraction", {"a": "1\n2\n3\n"}, read("a", limit=1.5))
case("read.range-big", "lines from the middle of a big file", {"a": ("y" * 99 + "\n") * 20000},
     read("a", offset=15000, limit=2))
case("read.range-crlf", "a range of a CRLF file", {"a": "1\r\n2\r\n3\r\n"},
     read("a", offset=2, limit=1))

# ---- names -------------------------------------------------------------------------------------
case("read.missing", "no such file", {}, read("nosuch"))
case("read.nearest", "no such file, but a similar one", {"config.json": "{}\n"}, read("config.jsn"))
case("read.extension", "another extension", {"main.ts": "x\n"}, read("main.js"))
case("read.directory", "a directory", {"d/f": ""}, read("d"))
case("read.slash", "a slash at the end of a file's name", {"a": "x\n"}, read("a/"))
case("read.relative", "a relative path", {"a": "x\n"}, bash("cd $W"), read("./a"), alone=True)
case("read.dots", "a path with ..", {"a": "x\n", "d/f": ""}, read("d/../a"))
case("read.tilde", "a path with ~", {}, bash("echo x > ~/f1"), read("~/f1"))
case("read.spaces", "spaces and quotes", {"a b'c\"d": "x\n"}, read("a b'c\"d"))
case("read.u202f", "U+202F in the name (29)", {"a\u202fb.txt": "x\n"}, read("a\u202fb.txt"))
case("read.u202f-space", "a space where the name has U+202F", {"7.10\u202fPM.txt": "x\n"},
     read("7.10 PM.txt"))
case("read.nfd", "a decomposed name (29)", {"cafe\u0301": "x\n"}, read("cafe\u0301"))
case("read.nfc", "the composed form of a decomposed name", {"cafe\u0301": "x\n"}, read("caf\u00e9"))
case("read.newline-name", "a newline in the name", {"a\nb": "x\n"}, read("a\nb"))
case("read.unreadable", "no permission", {"a": Mode(0, "x\n")}, read("a"), raw=("error-prefix",))
case("read.empty-name", "an empty path", {}, Call("Read", {"file_path": ""}))
case("read.unknown", "an argument that there is not", {"a": "x\n"}, read("a", encoding="utf-8"))
case("read.pages-text", "pages of a text file", {"a": "x\n"}, read("a", pages="1"))
case("read.allow-large", "allow_large", {"a": "x\n"}, read("a", allow_large=True))

# ---- what is no file ------------------------------------------------------------------------
case("read.fifo", "a FIFO (13)", {"p": fifo}, read("p"), deadline=2)
case("read.fifo-link", "a link to a FIFO (13)", {"p": fifo, "l": link("p")}, read("l"), deadline=2)
case("read.socket", "a socket (13)", {"s": listener}, read("s"))
case("read.dev-zero", "/dev/zero (13)", {}, read("/dev/zero"), deadline=2)
case("read.dev-stdin", "/dev/stdin (13)", {}, read("/dev/stdin"))
case("read.dev-null", "/dev/null", {}, read("/dev/null"))
case("read.kmsg", "/proc/kmsg (13)", {}, read("/proc/kmsg"))
case("read.environ", "the environment of the harness", {}, read("/proc/self/environ"))

# ---- links and places -----------------------------------------------------------------------
case("read.link", "a link that stays inside", {"a": "x\n", "l": link("a")}, read("l"))
case("read.link-out", "a link that leaves (28)", {"l": link("/etc/passwd")}, read("l"))
case("read.dir-link-out", "a directory link that leaves (28)", {"l": link("$O")}, read("l/secret"))
case("read.link-loop", "links in a circle", {"a": link("b"), "b": link("a")}, read("a"))
case("read.link-dangling", "a link to nothing", {"a": link("nosuch")}, read("a"))
case("read.outside", "a file outside of the workspace", {}, read("$O/secret"))

# ---- images, documents, notebooks -----------------------------------------------------------
case("read.png", "a PNG", {"a.png": PNG}, read("a.png"))
case("read.gif", "a GIF", {"a.gif": GIF}, read("a.gif"))
case("read.webp", "a WebP", {"a.webp": WEBP}, read("a.webp"))
case("read.png-name", "a PNG with another name", {"a.dat": PNG}, read("a.dat"))
case("read.png-upper", "a name in capitals", {"A.PNG": PNG}, read("A.PNG"))
case("read.png-is-jpg", "a PNG that is called .jpg", {"a.jpg": PNG}, read("a.jpg"))
case("read.png-text", "a text that is called .png (25)", {"a.png": "not an image\n"}, read("a.png"))
case("read.png-empty", "an empty .png (25)", {"a.png": ""}, read("a.png"))
case("read.png-cut", "a cut PNG (25)", {"a.png": PNG[:40]}, read("a.png"))
case("read.png-noise", "a PNG's header, then noise (25)",
     {"a.png": PNG[:16] + bytes(range(7, 250)) * 4}, read("a.png"))
case("read.heic", "HEIC (25)", {"a.heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 100},
     read("a.heic"))
case("read.binary", "a binary", {"a.bin": bytes(range(256)) * 8}, read("a.bin"))
case("read.elf", "a binary without an extension", {"a": b"\x7fELF\x02\x01\x01" + b"\0" * 200},
     read("a"))
case("read.zip", "an archive", {"a.zip": b"PK\x03\x04" + b"\0\x01\xff" * 100}, read("a.zip"))
case("read.pdf", "a PDF", {"a.pdf": PDF}, read("a.pdf"), needs="pdftoppm")
case("read.pdf-page", "a page of a PDF", {"a.pdf": PDF}, read("a.pdf", pages="1"),
     needs="pdftoppm")
case("read.pdf-pages-bad", "pages that are none", {"a.pdf": PDF}, read("a.pdf", pages="x"))
case("read.pdf-text", "a text that is called .pdf", {"a.pdf": "no PDF\n"}, read("a.pdf"))
case("read.notebook", "a notebook",
     {"n.ipynb": cells(markdown("# hi\n"), code("2+2", "b", [STREAM]))},
     read("n.ipynb"))
case("read.notebook-lines", "a cell whose source is a list",
     {"n.ipynb": cells(code(["x = 1\n", "x"]))}, read("n.ipynb"))
case("read.notebook-broken", "a notebook that is not JSON", {"n.ipynb": "{\n"}, read("n.ipynb"))
case("read.notebook-empty", "a notebook without cells", {"n.ipynb": cells()}, read("n.ipynb"))

# ---- again ----------------------------------------------------------------------------------
case("read.again", "a file that has not changed", {"a": "x\n"}, read("a"), read("a"))
case("read.again-changed", "a file that has changed", {"a": "x\n"}, read("a"), put("a", "yy\n"),
     read("a"))
case("read.after-edit", "a file after an Edit", {"a": "x\n"}, read("a"), edit("a", "x", "y"),
     read("a"))

# ---- LS -------------------------------------------------------------------------------------
TREE = {"b": "", "a": "", ".h": "", "d/f": "", "d/e/g": "", "empty": directory}
case("ls.plain", "a directory", TREE, ls())
case("ls.ignore", "names to leave out", TREE, ls(ignore=["a", "*d*"]))
case("ls.missing", "no such directory", {}, ls("nosuch"))
case("ls.file", "a file", {"a": ""}, ls("a"))
case("ls.empty", "an empty directory", {"d": directory}, ls("d"))
case("ls.outside", "a directory outside of the workspace", {}, ls("$O"))
