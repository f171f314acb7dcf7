# SPDX-License-Identifier: Apache-2.0
"""The table of calls: Write, Edit, MultiEdit, NotebookEdit."""
from calls_read import STREAM, cells, code, markdown
from table import (Call, Mode, bash, case, edit, fifo, hard, link, multi, notebook, put,
                   read, sparse, touch, write)

# ---- Write ------------------------------------------------------------------------------------
case("write.new", "a new file", {}, write("a", "x\n"))
case("write.empty", "no content", {}, write("a", ""))
case("write.parents", "folders are made", {}, write("d/e/a", "x\n"))
case("write.unread", "an existing file that was not read", {"a": "old\n"}, write("a", "x\n"))
case("write.read", "an existing file that was read", {"a": "old\n"}, read("a"), write("a", "x\n"))
case("write.changed", "it changed after Read", {"a": "old\n"}, read("a"), put("a", "other\n"),
     write("a", "x\n"))
case("write.changed-same-time", "it changed, and its time did not", {"a": "old\n"}, read("a"),
     put("a", "new\n"), bash("touch -d @1000000000 $W/a"), write("a", "x\n"))
case("write.touched", "its time changed, and it did not", {"a": "old\n"}, read("a"), touch("a"),
     write("a", "x\n"))
case("write.partly-read", "one line of it was read", {"a": "1\n2\n3\n"}, read("a", limit=1),
     write("a", "x\n"))
case("write.by-bash", "made by Bash, not read", {}, bash("echo old > $W/a"), write("a", "x\n"))
case("write.twice", "written twice", {}, write("a", "1\n"), write("a", "2\n"))
case("write.same", "the same content", {"a": "x\n"}, read("a"), write("a", "x\n"))
case("write.crlf", "a CRLF file gets text with LF (1)", {"a": "one\r\ntwo\r\n"}, read("a"),
     write("a", "one\n2\n"))
case("write.crlf-new", "CRLF as it is given", {}, write("a", "one\r\ntwo\r\n"))
case("write.bom", "a file with a BOM (4)", {"a": b"\xef\xbb\xbfone\n"}, read("a"),
     write("a", "two\n"))
case("write.utf16", "a UTF-16 file", {"a": b"\xff\xfe" + "one\n".encode("utf-16-le")}, read("a"),
     write("a", "two\n"))
case("write.latin1", "a file that is not UTF-8", {"a": b"caf\xe9\n"}, read("a"),
     write("a", "cafe\n"))
case("write.mode", "the mode stays", {"a": Mode(0o750, "x\n")}, read("a"), write("a", "y\n"))
case("write.link", "a link stays a link", {"a": "x\n", "l": link("a")}, read("l"),
     write("l", "y\n"))
case("write.hard-link", "a hard link stays one file (8)", {"a": "x\n", "b": hard("a")}, read("a"),
     write("a", "y\n"))
case("write.read-only", "a file without write permission", {"a": Mode(0o444, "x\n")}, read("a"),
     write("a", "y\n"))
case("write.directory", "a directory", {"d/f": ""}, write("d", "x\n"))
case("write.below-file", "below a file", {"a": "x\n"}, write("a/b", "x\n"))
case("write.link-out", "through a link that leaves (28)", {"l": link("$O")},
     write("l/new", "x\n"))
case("write.outside", "outside of the workspace", {}, write("$O/new", "x\n"))
case("write.git-hook", "a hook of git", {".git/HEAD": "ref: x\n"},
     write(".git/hooks/pre-commit", "x\n"))
case("write.mcp-json", "a file that a host program trusts", {}, write(".mcp.json", "{}\n"))
case("write.claude", "settings of the harness", {}, write(".claude/settings.json", "{}\n"))
case("write.fifo", "a FIFO", {"p": fifo}, write("p", "x\n"), deadline=2)
case("write.unicode", "other scripts and U+2028", {}, write("a", "naïve 你好 🙂 \u2028\n"))
case("write.missing-content", "no content argument", {}, Call("Write", {"file_path": "$W/a"}))

# ---- Edit: what matches -------------------------------------------------------------------
case("edit.plain", "one place", {"a": "one\ntwo\nthree\n"}, read("a"), edit("a", "two", "2"),
     raw=("changed",))
case("edit.none", "no match", {"a": "one\ntwo\n"}, read("a"), edit("a", "tow", "2"))
case("edit.several", "several matches", {"a": "x\nx\n"}, read("a"), edit("a", "x", "y"))
case("edit.all", "replace_all", {"a": "x\nx\n"}, read("a"), edit("a", "x", "y", replace_all=True))
case("edit.all-string", "replace_all as a string", {"a": "x\nx\n"}, read("a"),
     edit("a", "x", "y", replace_all="true"))
case("edit.all-overlap", "matches that overlap", {"a": "aaaaa\n"}, read("a"),
     edit("a", "aa", "b", replace_all=True))
case("edit.equal", "equal strings", {"a": "x\n"}, read("a"), edit("a", "x", "x"))
case("edit.delete", "a line's text is replaced by nothing", {"a": "one\ntwo\nthree\n"}, read("a"),
     edit("a", "two", ""))
case("edit.delete-line", "a line is replaced by nothing", {"a": "one\ntwo\nthree\n"}, read("a"),
     edit("a", "two\n", ""))
case("edit.delete-word", "a word in a line is replaced by nothing", {"a": "one two three\n"},
     read("a"),
     edit("a", "two ", ""))
case("edit.delete-all", "words at line ends are replaced by nothing", {"a": "a x\nb x\nc x y\n"},
     read("a"), edit("a", " x", "", replace_all=True))
case("edit.curly", "typographic quotes in the file", {"a": "say \u201chi\u201d, it\u2019s\n"},
     read("a"),
     edit("a", "\"hi\", it's", "\"ho\", it's"))
case("edit.curly-old", "typographic quotes in old_string", {"a": "say \"hi\"\n"}, read("a"),
     edit("a", "\u201chi\u201d", "ho"))
case("edit.space-end", "white space at a line's end", {"a": "one  \ntwo\n"}, read("a"),
     edit("a", "one\ntwo", "1\n2"))
case("edit.tab-space", "spaces for tabs", {"a": "\tone\n"}, read("a"),
     edit("a", "    one", "    1"))
case("edit.prefix", "the line number is in old_string", {"a": "one\ntwo\n"}, read("a"),
     edit("a", "2\ttwo", "2\t2"))
case("edit.new-trailing", "white space at the end of new lines", {"a": "one\n"}, read("a"),
     edit("a", "one", "one  \ntwo \n"))
case("edit.trailing-md", "white space at the end of new lines, Markdown", {"a.md": "one\n"},
     read("a.md"), edit("a.md", "one", "one  \ntwo"))
case("edit.nfd", "old_string is composed, the file is not", {"a": "cafe\u0301\n"}, read("a"),
     edit("a", "caf\u00e9", "x"))
case("edit.regex", "old_string has the signs of regular expressions", {"a": "a.*b\naxxb\n"},
     read("a"), edit("a", "a.*b", "ok"))
case("edit.whole", "the whole file", {"a": "one\ntwo\n"}, read("a"), edit("a", "one\ntwo\n", "x\n"))
case("edit.tags", "tags of the function call format",
     {"a": "<function_results>x</function_results>\n"},
     read("a"), edit("a", "<fnr>x</fnr>", "y"))

# ---- Edit: bytes ------------------------------------------------------------------------------
case("edit.crlf", "CRLF, twice (1)", {"a": "one\r\ntwo\r\n"}, read("a"),
     edit("a", "one\ntwo", "1\n2"),
     edit("a", "1\n2", "eins\nzwei"))
case("edit.crlf-old", "CRLF in old_string (3)", {"a": "one\r\ntwo\r\n"}, read("a"),
     edit("a", "one\r\ntwo", "1\r\n2"))
case("edit.crlf-new", "CRLF in new_string, LF in the file", {"a": "one\ntwo\n"}, read("a"),
     edit("a", "one", "1\r\n1b"))
case("edit.mixed", "mixed line ends (2)", {"a": "a\r\nb\nc\r\nd\n"}, read("a"), edit("a", "b", "B"))
case("edit.mixed-lines", "several of mixed lines (2)", {"a": "a\r\nb\nc\r\nd\n"}, read("a"),
     edit("a", "b\nc", "B\nC"))
case("edit.lone-cr", "a CR alone elsewhere", {"a": "a\rb\nc\nd\n"}, read("a"), edit("a", "c", "C"))
case("edit.bom", "a BOM, the first line (4)", {"a": b"\xef\xbb\xbfone\ntwo\n"}, read("a"),
     edit("a", "one\n", "1\n"))
case("edit.latin1", "a byte 0x99 elsewhere (5)", {"a": b"caf\x99\ntwo\n"}, read("a"),
     edit("a", "two", "2"))
case("edit.sjis", "Shift-JIS (6)", {"a": "日本\ntwo\n".encode("shift-jis")}, read("a"),
     edit("a", "two", "日"))
case("edit.utf16", "UTF-16 with a BOM", {"a": b"\xff\xfe" + "one\ntwo\n".encode("utf-16-le")},
     read("a"), edit("a", "two", "2"))
case("edit.nul", "a NUL elsewhere", {"a": b"a\0b\ntwo\n"}, read("a"), edit("a", "two", "2"))
case("edit.dollar", "$&, $$, $1, $' (9)", {"a": "x\n"}, read("a"),
     edit("a", "x", "'^[a-z]$' $$ $& $1 $` \\1"))
case("edit.dollar-all", "the same, everywhere (9)", {"a": "x x\n"}, read("a"),
     edit("a", "x", "$$ $&", replace_all=True))
case("edit.no-newline", "no newline at the end (10)", {"a": "one\ntwo"}, read("a"),
     edit("a", "two", "2"))
case("edit.last-newline", "the newline at the end goes", {"a": "one\ntwo\n"}, read("a"),
     edit("a", "two\n", "2"))
case("edit.big", "10,000,000 bytes", {"a": b"y" * 99 + b"\n" + (b"z" * 99 + b"\n") * 99999},
     read("a", limit=1), edit("a", "y" * 99, "x"), bash("head -c 20 $W/a; stat -c %s $W/a"))
case("edit.sparse", "10 GB (33)", {"a": sparse(10 << 30)}, edit("a", "x", "y"))

# ---- Edit: read before, changed since ---------------------------------------------------------
case("edit.unread", "a file that was not read", {"a": "x\n"}, edit("a", "x", "y"))
case("edit.changed", "it changed after Read", {"a": "x\n"}, read("a"), put("a", "xx\n"),
     edit("a", "x", "y"))
case("edit.changed-by-bash", "Bash changed it", {"a": "x\n"}, read("a"), bash("echo y >> $W/a"),
     edit("a", "x", "z"))
case("edit.touched", "its time changed, and it did not", {"a": "x\n"}, read("a"), touch("a"),
     edit("a", "x", "y"))
case("edit.changed-same-time", "it changed, and its time did not", {"a": "x\nz\n"}, read("a"),
     put("a", "x\nw\n"), bash("touch -d @1000000000 $W/a"), edit("a", "x", "y"))
case("edit.chain", "a chain without Read", {"a": "1\n"}, read("a"), edit("a", "1", "2"),
     edit("a", "2", "3"), edit("a", "3", "4"))
case("edit.partly-read", "outside of the lines that were read", {"a": "1\n2\n3\n"},
     read("a", limit=1), edit("a", "3", "x"))
case("edit.after-write", "after Write", {}, write("a", "x\n"), edit("a", "x", "y"))
case("edit.cat", "read by cat, not by Read", {"a": "x\n"}, bash("cat $W/a"), edit("a", "x", "y"))
case("edit.deleted", "it was deleted after Read", {"a": "x\n"}, read("a"), bash("rm $W/a"),
     edit("a", "x", "y"))

# ---- Edit: files --------------------------------------------------------------------------------
case("edit.missing", "no such file", {}, edit("nosuch", "x", "y"))
case("edit.create", "an empty old_string makes a file", {}, edit("d/a", "", "x\n"))
case("edit.create-exists", "an empty old_string, and a file with text", {"a": "x\n"}, read("a"),
     edit("a", "", "y\n"))
case("edit.create-empty", "an empty old_string, and an empty file", {"a": ""}, read("a"),
     edit("a", "", "y\n"))
case("edit.mode", "setgid and mode stay (8)", {"a": Mode(0o2750, "x\n")}, read("a"),
     edit("a", "x", "y"))
case("edit.hard-link", "a hard link stays one file (8)", {"a": "x\n", "b": hard("a")}, read("a"),
     edit("a", "x", "y"), raw=("in-place",))
case("edit.xattr", "an extended attribute stays (8)", {"a": "x\n"},
     bash("setfattr -n user.k -v v $W/a 2>/dev/null || python3 -c \"import os;"
          "os.setxattr('$W/a','user.k',b'v')\""), read("a"), edit("a", "x", "y"),
     bash("python3 -c \"import os; print(os.getxattr('$W/a','user.k'))\""))
case("edit.link", "a link stays a link", {"a": "x\n", "l": link("a")}, read("l"),
     edit("l", "x", "y"))
case("edit.link-out", "a link that leaves (28)", {"l": link("$O/secret")}, read("l"),
     edit("l", "outside", "y"))
case("edit.read-only", "a file without write permission", {"a": Mode(0o444, "x\n")}, read("a"),
     edit("a", "x", "y"))
case("edit.directory", "a directory", {"d/f": ""}, edit("d", "x", "y"))
case("edit.fifo", "a FIFO", {"p": fifo}, edit("p", "x", "y"), deadline=2)
case("edit.notebook", "a notebook", {"n.ipynb": cells(code("1"))}, read("n.ipynb"),
     edit("n.ipynb", '"1"', '"2"'))
case("edit.git-config", "git's configuration", {".git/config": "[core]\n"}, read(".git/config"),
     edit(".git/config", "[core]", "[core]\n\tfsmonitor = x"))
case("edit.unknown", "an argument that there is not", {"a": "x\n"}, read("a"),
     edit("a", "x", "y", expect=1))

# ---- MultiEdit --------------------------------------------------------------------------------
case("multi.plain", "each on the result of the one before", {"a": "one\ntwo\n"}, read("a"),
     multi("a", ("one", "1"), ("1\ntwo", "3")))
case("multi.two", "two places", {"a": "one\ntwo\nthree\n"}, read("a"),
     multi("a", ("one", "1"), ("three", "3")))
case("multi.none", "all or none", {"a": "one\ntwo\n"}, read("a"),
     multi("a", ("one", "1"), ("x", "y")))
case("multi.all", "replace_all in one of them", {"a": "x x\ny\n"}, read("a"),
     multi("a", ("x", "z", True), ("y", "w")))
case("multi.create", "the first makes the file", {}, multi("a", ("", "one\n"), ("one", "1")))
case("multi.empty", "no edits", {"a": "x\n"}, read("a"), multi("a"))
case("multi.crlf", "CRLF", {"a": "one\r\ntwo\r\n"}, read("a"),
     multi("a", ("one\ntwo", "1\n2"), ("2", "3")))
case("multi.unread", "a file that was not read", {"a": "x\n"}, multi("a", ("x", "y")))
case("multi.back", "there and back again", {"a": "x\n"}, read("a"),
     multi("a", ("x", "y"), ("y", "x")))

# ---- NotebookEdit --------------------------------------------------------------------------------
BOOK = {"n.ipynb": cells(markdown("# hi"), code("2+2", "b", [STREAM]))}
case("notebook.replace", "code is replaced, its outputs go", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "3+3", cell_id="b"))
case("notebook.replace-markdown", "text is replaced", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "# ho", cell_id="m"))
case("notebook.number", "cell-N", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "3+3", cell_id="cell-1"),
     raw=("notebook-diff",))
case("notebook.insert", "inserted after a cell", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "new", cell_id="m", cell_type="code", edit_mode="insert"))
case("notebook.insert-top", "inserted at the top", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "new", cell_type="markdown", edit_mode="insert"))
case("notebook.insert-no-type", "inserted without a type", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "new", cell_id="m", edit_mode="insert"))
case("notebook.delete", "deleted", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "", cell_id="m", edit_mode="delete"))
case("notebook.no-id", "replaced without an id", BOOK, read("n.ipynb"), notebook("n.ipynb", "x"))
case("notebook.missing", "no such cell", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "x", cell_id="zz"))
case("notebook.type", "a cell becomes text", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "# x", cell_id="b", cell_type="markdown"))
case("notebook.old", "nbformat 4.4 has no ids",
     {"n.ipynb": cells({k: v for k, v in code("1").items() if k != "id"}, minor=4)}, read("n.ipynb"),
     notebook("n.ipynb", "new", cell_id="cell-0", cell_type="code", edit_mode="insert"))
case("notebook.unread", "a notebook that was not read", BOOK, notebook("n.ipynb", "x", cell_id="b"))
case("notebook.changed", "it changed after Read", BOOK, read("n.ipynb"),
     put("n.ipynb", cells(markdown("# other"))), notebook("n.ipynb", "x", cell_id="m"))
case("notebook.not", "no notebook", {"a.txt": "x\n"}, read("a.txt"),
     notebook("a.txt", "x", cell_id="b"))
case("notebook.indent", "indentation of four and unknown keys",
     {"n.ipynb": cells(code("1", "a", extra={"k": 1}), code("2", "b"), indent=4, other=[1])},
     read("n.ipynb"), notebook("n.ipynb", "3", cell_id="b"))
case("notebook.ascii", "escapes of other cells",
     {"n.ipynb": cells(markdown("na\u00efve"), code("2", "b"))}, read("n.ipynb"),
     notebook("n.ipynb", "\u00fc", cell_id="b"))
case("notebook.chain", "two edits without Read", BOOK, read("n.ipynb"),
     notebook("n.ipynb", "1", cell_id="b"), notebook("n.ipynb", "2", cell_id="b"))
