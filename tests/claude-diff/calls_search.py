# SPDX-License-Identifier: Apache-2.0
"""The table of calls: Glob and Grep."""
from calls_read import PNG
from table import Call, Host, Mode, bash, case, directory, fifo, glob, grep, link, read

FILES = {"a.c": "int a;\n", "b.h": "int b;\n", "src/c.c": "int c;\n", "src/deep/d.c": "int d;\n",
         ".hidden/e.c": "int e;\n", ".f.c": "int f;\n"}
IGNORED = {".git/HEAD": "ref: refs/heads/x\n", ".gitignore": "*.log\n!keep.log\nbuild/\n",
           "a.txt": "word\n", "a.log": "word\n", "keep.log": "word\n", "build/b.txt": "word\n",
           "sub/.gitignore": "n.txt\n", "sub/n.txt": "word\n", "sub/o.txt": "word\n"}
TEXT = "alpha\nBeta\nfoo(bar)\ngamma foo\n\ndelta\nfoo {}\n"


def unnameable(where):
    """A name that is not UTF-8."""
    with open(where.encode() + b"/x\xff.c", "w", encoding="ascii") as f:
        f.write("int x;\n")


# ---- Glob -------------------------------------------------------------------------------------
case("glob.star", "*.c", FILES, glob("*.c"))
case("glob.any-depth", "**/*.c", FILES, glob("**/*.c"))
case("glob.below", "src/**", FILES, glob("src/**"))
case("glob.one-level", "src/*.c", FILES, glob("src/*.c"))
case("glob.braces", "*.{c,h}", FILES, glob("*.{c,h}"))
case("glob.braces-deep", "**/*.{c,h}", FILES, glob("**/*.{c,h}"))
case("glob.class", "[ab].?", FILES, glob("[ab].?"))
case("glob.class-not", "[!a].*", FILES, glob("[!a].*"))
case("glob.dot", ".*", FILES, glob(".*"))
case("glob.literal", "a name", FILES, glob("a.c"))
case("glob.literal-deep", "a name in a folder", FILES, glob("src/c.c"))
case("glob.directory", "a directory's name", FILES, glob("src"))
case("glob.star-dir", "src/*/", FILES, glob("src/*/"))
case("glob.absolute", "an absolute pattern", FILES, Call("Glob", {"pattern": "$W/**/*.c"}))
case("glob.no-path", "the shell's directory", FILES, bash("cd $W/src"),
     Call("Glob", {"pattern": "*.c"}), alone=True)
case("glob.dots", "..", FILES, Call("Glob", {"pattern": "../*.h", "path": "$W/src"}))
case("glob.order", "the order", {"old": "", "middle": "", "new": ""}, glob("*"), raw=("order",))
case("glob.ignored", "files that .gitignore names (12)", IGNORED, glob("**/*.{txt,log}"))
case("glob.modules", "node_modules and VCS folders",
     {"node_modules/x/i.js": "", ".svn/j.js": "", "a.js": "", ".git/k.js": "", ".git/HEAD": ""},
     glob("**/*.js"))
case("glob.150", "more than 100 files", {"f%03d" % i: "" for i in range(150)}, glob("f*"))
case("glob.none", "nothing", FILES, glob("*.rs"))
case("glob.unreadable", "a directory without permission (11)",
     {"a.md": "", "sub/b.md": "", "sub": Mode(0, lambda path: None), "z/c.md": ""}, glob("**/*.md"))
case("glob.path-missing", "no such directory", {}, glob("*", "nosuch"))
case("glob.path-file", "a file as path", {"a": ""}, glob("*", "a"))
case("glob.link-dir", "a link to a directory", {"d/a.c": "", "l": link("d")}, glob("**/*.c"))
case("glob.link-file", "a link to a file", {"a.c": "", "b.c": link("a.c")}, glob("*.c"))
case("glob.link-dangling", "a link to nothing", {"b.c": link("nosuch")}, glob("*.c"))
case("glob.link-loop", "a link to the parent", {"d/a.c": "", "d/up": link("..")}, glob("**/*.c"))
case("glob.u202f", "U+202F, then Read (29)", {"a\u202fb.png": PNG}, glob("*.png"),
     read("a\u202fb.png"))
case("glob.nfd", "a decomposed name (29)", {"cafe\u0301.c": ""}, glob("*.c"))
case("glob.bytes", "a name that is not UTF-8 (29)", {}, Host(unnameable), glob("*.c"))
case("glob.newline", "a newline in a name", {"a\nb.c": ""}, glob("*.c"))
case("glob.bracket", "a bracket without its end", {"a[b": ""}, glob("a[b"))
case("glob.case", "another case", FILES, glob("A.C"))
case("glob.empty-dir", "an empty directory", {"d": directory}, glob("**/*", "d"))
case("glob.outside", "outside of the workspace", {}, glob("*", "$O"))

# ---- Grep: modes ------------------------------------------------------------------------------
case("grep.default", "no mode: files", FILES, Call("Grep", {"pattern": "int", "path": "$W"}))
case("grep.files", "files, newest first", FILES, grep("int [a-c]", mode="files_with_matches"))
case("grep.content", "content", {"a": TEXT}, grep("foo", "a"), raw=("grep-number", "grep-total"))
case("grep.number", "-n", {"a": TEXT}, grep("foo", **{"-n": True}))
case("grep.no-number", "-n false", {"a": TEXT}, grep("foo", **{"-n": False}))
case("grep.count", "count", {"a": TEXT, "b": "foo foo\n"}, grep("foo", mode="count"))
case("grep.one-file", "a file as path", {"a": TEXT}, grep("foo", "a", **{"-n": True}))
case("grep.one-file-count", "a file as path, count", {"a": TEXT}, grep("foo", "a", "count"))
case("grep.one-file-files", "a file as path, files", {"a": TEXT},
     grep("foo", "a", "files_with_matches"))
case("grep.none", "nothing", {"a": TEXT}, grep("nosuch"), raw=("none",))
case("grep.none-files", "nothing, files", {"a": TEXT}, grep("nosuch", mode="files_with_matches"))
case("grep.none-count", "nothing, count", {"a": TEXT}, grep("nosuch", mode="count"))

# ---- Grep: flags ------------------------------------------------------------------------------
case("grep.case", "case matters", {"a": TEXT}, grep("beta"))
case("grep.no-case", "-i", {"a": TEXT}, grep("beta", **{"-i": True}))
case("grep.after", "-A", {"a": TEXT}, grep("Beta", **{"-A": 1, "-n": True}))
case("grep.before", "-B", {"a": TEXT}, grep("delta", **{"-B": 2, "-n": True}))
case("grep.around", "-C, with a gap", {"a": TEXT}, grep("alpha|foo \\{", **{"-C": 1, "-n": True}))
case("grep.around-string", "-C as a string", {"a": TEXT}, grep("Beta", **{"-C": "1", "-n": True}))
case("grep.context-files", "-C in another mode", {"a": TEXT},
     grep("Beta", mode="files_with_matches", **{"-C": 1}))
case("grep.glob", "glob", FILES, grep("int", mode="files_with_matches", glob="*.h"))
case("grep.glob-braces", "glob with braces", FILES,
     grep("int", mode="files_with_matches", glob="*.{h,c}"))
case("grep.glob-not", "glob that leaves out", FILES,
     grep("int", mode="files_with_matches", glob="!*.c"))
case("grep.glob-deep", "glob with a folder", FILES,
     grep("int", mode="files_with_matches", glob="src/**/*.c"))
case("grep.glob-several", "two globs", FILES,
     grep("int", mode="files_with_matches", glob="*.h *.c"))
case("grep.glob-comma", "two globs with a comma", FILES,
     grep("int", mode="files_with_matches", glob="*.h,*.c"))
case("grep.type", "type", {"a.py": "x\n", "b.js": "x\n"},
     grep("x", mode="files_with_matches", type="py"))
case("grep.type-unknown", "a type that there is not", {"a.py": "x\n"}, grep("x", type="nosuch"))
case("grep.limit", "head_limit", {"a": "foo\n" * 10}, grep("foo", head_limit=3, **{"-n": True}))
case("grep.limit-files", "head_limit, files", {"f%d" % i: "foo\n" for i in range(5)},
     grep("foo", mode="files_with_matches", head_limit=2))
case("grep.300", "300 matches, no limit", {"a": "foo\n" * 300}, grep("foo"))
case("grep.multiline", "multiline", {"a": "struct x {\n  int field;\n};\n"},
     grep("struct x \\{[\\s\\S]*?field", multiline=True, **{"-n": True}))
case("grep.multiline-dot", "multiline: . is a newline too", {"a": "one\ntwo\nthree\n"},
     grep("one.two", multiline=True, **{"-n": True}))
case("grep.no-multiline", "\\n without multiline", {"a": "one\ntwo\n"}, grep("one\\ntwo"))
case("grep.unknown", "an argument that there is not", {"a": "x\n"}, grep("x", include="*.c"))

# ---- Grep: patterns -------------------------------------------------------------------------
case("grep.alternation", "a|b", {"a": TEXT}, grep("alpha|delta", **{"-n": True}))
case("grep.anchors", "^ and $", {"a": TEXT}, grep("^foo|foo$", **{"-n": True}))
case("grep.words", "\\b, \\w, \\d, \\s", {"a": "x1 y\nxx y\n"},
     grep("\\bx\\d\\s\\w", **{"-n": True}))
case("grep.parenthesis", "an escaped parenthesis", {"a": TEXT}, grep("foo\\(", **{"-n": True}))
case("grep.parenthesis-open", "a parenthesis without its end", {"a": TEXT}, grep("foo("))
case("grep.braces", "braces that stand for themselves", {"a": "interface{}\n"},
     grep("interface{}", **{"-n": True}))
case("grep.braces-escaped", "escaped braces", {"a": "interface{}\n"},
     grep("interface\\{\\}", **{"-n": True}))
case("grep.look-ahead", "look-ahead", {"a": TEXT}, grep("foo(?=\\()", **{"-n": True}))
case("grep.back-reference", "a reference to a group", {"a": "aa ab\n"},
     grep("(a)\\1", **{"-n": True}))
case("grep.inline-flag", "(?i)", {"a": TEXT}, grep("(?i)BETA", **{"-n": True}))
case("grep.unicode-class", "\\p{Lu}", {"a": "é\nÉ\n"}, grep("\\p{Lu}", **{"-n": True}))
case("grep.unicode-case", "-i beyond ASCII", {"a": "É\n"}, grep("é", **{"-i": True, "-n": True}))
case("grep.unicode-dot", ". is a character", {"a": "你x\n"}, grep("^.x", **{"-n": True}))
case("grep.posix", "[[:digit:]]", {"a": "x1\nxx\n"}, grep("x[[:digit:]]", **{"-n": True}))
case("grep.dash", "a pattern that begins with -", {"a": "--flag\n"}, grep("--flag", **{"-n": True}))
case("grep.star-first", "a pattern that begins with *", {"a": "x\n"}, grep("*x"))
case("grep.empty", "an empty pattern", {"a": "x\ny\n"}, grep(""))
case("grep.quotes", "quotes and backslashes", {"a": "say \"hi\\n\"\n"},
     grep("\"hi\\\\n\"", **{"-n": True}))
case("grep.class-bracket", "a bracket without its end", {"a": "x\n"}, grep("[x"))
case("grep.explodes", "a pattern that explodes", {"a": "a" * 40 + "b\n"}, grep("(a+)+$"))

# ---- Grep: files ------------------------------------------------------------------------------
case("grep.ignored", "ignored files, nested and negated (12)", IGNORED,
     grep("word", mode="files_with_matches"))
case("grep.exclude", ".git/info/exclude (12)",
     {".git/HEAD": "ref: refs/heads/x\n", ".git/info/exclude": "e.txt\n", "e.txt": "word\n", "f.txt": "word\n"},
     grep("word", mode="files_with_matches"))
case("grep.ignored-named", "an ignored file that is named (12)", IGNORED,
     grep("word", "a.log", **{"-n": True}))
case("grep.ignored-dir-named", "an ignored directory that is named (12)", IGNORED,
     grep("word", "build", mode="files_with_matches"))
case("grep.ignore-file", ".ignore", {".ignore": "a.txt\n", "a.txt": "word\n", "b.txt": "word\n"},
     grep("word", mode="files_with_matches"))
case("grep.no-repository", ".gitignore without a repository",
     {".gitignore": "a.txt\n", "a.txt": "word\n", "b.txt": "word\n"}, grep("word", mode="files_with_matches"))
case("grep.hidden", "hidden files", FILES, grep("int [ef]", mode="files_with_matches"))
case("grep.vcs", "folders of version control",
     {".git/x": "word\n", ".svn/y": "word\n", "a": "word\n"},
     grep("word", mode="files_with_matches"))
case("grep.modules", "node_modules", {"node_modules/x": "word\n", "a": "word\n"},
     grep("word", mode="files_with_matches"))
case("grep.binary", "a binary", {"a.bin": b"word\0\xff\nword\n"}, grep("word"))
case("grep.binary-files", "a binary, files", {"a.bin": b"word\0\xff\nword\n"},
     grep("word", mode="files_with_matches"))
case("grep.latin1", "bytes that are not UTF-8", {"a": b"caf\xe9 word\n"},
     grep("word", **{"-n": True}))
case("grep.utf16", "UTF-16 with a BOM", {"a": b"\xff\xfe" + "one\nword\n".encode("utf-16-le")},
     grep("word", **{"-n": True}))
case("grep.bom", "a BOM and ^", {"a": b"\xef\xbb\xbfword\n"}, grep("^word", **{"-n": True}))
case("grep.crlf", "$ before CRLF", {"a": "word\r\nmore words\r\n"}, grep("word$", **{"-n": True}))
case("grep.long-line", "a line of 5,000 characters",
     {"a": "x" * 2500 + "word" + "x" * 2500 + "\n"}, grep("word"))
case("grep.unreadable", "a directory without permission (11)",
     {"a.md": "word\n", "sub/b.md": "word\n", "sub": Mode(0, lambda path: None), "z/c.md": "word\n"},
     grep("word", mode="files_with_matches"))
case("grep.unreadable-file", "a file without permission", {"a": Mode(0, "word\n"), "b": "word\n"},
     grep("word", mode="files_with_matches"))
case("grep.path-missing", "no such path", {}, grep("x", "nosuch"))
case("grep.link-file", "a link to a file", {"a": "word\n", "l": link("a")},
     grep("word", mode="files_with_matches"))
case("grep.link-dir", "a link to a directory", {"d/a": "word\n", "l": link("d")},
     grep("word", mode="files_with_matches"))
case("grep.link-named", "a link that is named", {"a": "word\n", "l": link("a")},
     grep("word", "l", **{"-n": True}))
case("grep.fifo", "a FIFO among the files", {"a": "word\n", "p": fifo},
     grep("word", mode="files_with_matches"))
case("grep.no-path", "the shell's directory", FILES, bash("cd $W/src"),
     Call("Grep", {"pattern": "int", "output_mode": "content", "-n": True}), alone=True)
case("grep.spaces", "spaces and colons in names", {"a b:1.c": "word\n"},
     grep("word", **{"-n": True}))
case("grep.no-newline", "no newline at the end", {"a": "word"}, grep("word", **{"-n": True}))
case("grep.empty-files", "empty files", {"a": "", "b": "word\n"},
     grep("^", mode="files_with_matches"))
case("grep.outside", "outside of the workspace", {}, grep("outside", "$O"))
