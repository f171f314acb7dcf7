#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files Grep searches, against what git does not ignore, over trees that are generated
by seed: rule files of any shape, in any directory, in nested repositories, submodules and
worktrees, in .git/info/exclude and core.excludesFile. ATS_ROUNDS=N takes N trees, ATS_SEED=N
begins at that one; ATS_KEEP=1 keeps the tree of a failure."""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import toolrun
from toolrun import ats, put

NAMES = [b"a", b"b", b"ab", b"ba", b"abc", b"foo", b"foo.o", b"foo.c", b"x y", b"a ", b"a  ",
         b"#h", b"!n", b"b*", b"a]b", b"a\\b", b"[x]", b"-", b"\xc3\xa9", b"bad\xff", b"A",
         b"a\t", b"a-b", b".hid", b"build", b"a.b.c", b"1", b"a\r", b"?", b"^", b"a_b"]
CLASSES = [b"[ab]", b"[!a]", b"[^a]", b"[a-c]", b"[]a]", b"[!]a]", b"[a/b]", b"[[:alpha:]]",
           b"[[:digit:]x]", b"[[:nope:]a]", b"[a", b"[\\]a]", b"[a-]", b"[-a]", b"[--b]", b"[]-a]",
           b"[a-b-c]", b"[[:alpha:]-c]", b"[!-~]", b"[\\a-\\c]", b"[[:space:]]", b"[[:punct:]]",
           b"[[:upper:]]", b"[c-a]", b"[[:]", b"[[:x]", b"[[::]]", b"[[a]", b"[a\\]", b"[\xc3\xa9]",
           b"[[:alnum:][:punct:]]", b"[", b"[]", b"[!]", b"[^]", b"[[:graph:]]", b"[*]", b"[?a]"]
WILD = [b"*", b"*", b"*", b"?", b"**", b"**", b"***", b"*.o", b"a*", b"*b", b"foo*", b"*o*"]
ESCAPES = [b"\\a", b"\\*", b"\\[", b"\\?", b"\\\\", b"\\ ", b"\\#", b"\\!"]


def component(r):
    """One component of a rule."""
    kind = r.random()
    if kind < 0.4:
        return r.choice(NAMES)
    if kind < 0.6:
        return r.choice(WILD)
    parts = []
    for _ in range(r.randint(1, 3)):
        parts.append(r.choice(r.choice((CLASSES, WILD, ESCAPES, NAMES[:6], NAMES[:6]))))
    return b"".join(parts)


def rule(r):
    """One line of a rule file, without its end."""
    if r.random() < 0.05:
        return r.choice([b"", b"#", b"# a", b"/", b"!", b"!/", b"//", b" ", b"\\", b"!!a", b"\t"])
    text = component(r)
    for _ in range(r.choice((0, 0, 1, 1, 2))):
        text += r.choice((b"/", b"/", b"/", b"/", b"/**/", b"//", b"\\/")) + component(r)
    head = r.choice((b"", b"", b"", b"", b"/", b"/", b"**/", b" ", b"\\", b"./"))
    tail = r.choice((b"", b"", b"", b"", b"/", b"/", b"/*", b"/**", b" ", b"  ", b"\\ ", b" \\ ",
                     b"\t", b"\\", b"/ ", b"//", b"\\  "))
    return (b"!" if r.random() < 0.25 else b"") + head + text + tail


def rules(r):
    """The text of a rule file."""
    end = r.choice((b"\n", b"\n", b"\n", b"\r\n"))
    text = end.join(rule(r) for _ in range(r.randint(1, 6)))
    if r.random() < 0.8:
        text += end
    if r.random() < 0.1:
        text = b"\xef\xbb\xbf" + text
    return text or b"\n"


class Tree:
    """A generated tree, and what git says of it."""

    def __init__(self, r, top, home):
        self.r = r
        self.home = home
        self.top = os.fsencode(top)
        self.count = 0
        self.global_rules()
        kind = r.random()
        if kind < 0.12:
            self.worktree(self.top + b"/../main-of-it", self.top)
        elif kind < 0.15:
            os.makedirs(self.top)
            self.repository(self.top + b"/../real.git")
            os.symlink(b"../real.git", self.top + b"/.git")
        else:
            self.repository(self.top + b"/.git")
        self.fill(self.top, 0)

    def git_config(self, excludes):
        """Text of a configuration file, perhaps with core.excludesFile."""
        r = self.r
        lines = [b"[user]", b"\tname = x # excludesFile = no", b"[core]", b"\tbare = false"]
        if excludes:
            lines.append(r.choice((
                b"\texcludesFile = %s", b"excludesfile=\"%s\"", b"\tEXCLUDESFILE = %s ; note",
                b"[core]excludesFile = %s", b"[CORE]\n excludesFile = x\n[Core]\nexcludesFile=\\\n%s",
                b"[core \"x\"]\nexcludesFile = no\n[core]\n\texcludesFile = %s  "))
                % excludes)
        lines.append(b"[alias]\n\texcludesFile = nothing")
        return b"\n".join(lines) + b"\n"

    def global_rules(self):
        """What the user's own configuration says, for all repositories of the tree."""
        home, r = os.fsencode(self.home), self.r
        for name in (b".gitconfig", b".config/git/config", b".config/git/ignore", b"mine"):
            if os.path.exists(os.path.join(home, name)):
                os.unlink(os.path.join(home, name))
        kind = r.random()
        if kind < 0.5:
            return
        put(home + b"/.config/git/ignore", rules(r))
        put(home + b"/mine", rules(r))
        if kind > 0.6:
            put(home + b"/.gitconfig" if kind < 0.8 else home + b"/.config/git/config",
                self.git_config(r.choice((b"~/mine", home + b"/mine", b"~/none", b""))))

    def repository(self, path):
        """What git asks of a repository, by hand: git init takes its time."""
        r = self.r
        for name in (b"objects", b"refs", b"info"):
            os.makedirs(os.path.join(path, name))
        put(path + b"/HEAD", b"ref: refs/heads/main\n")
        put(path + b"/config", self.git_config(b"~/mine" if r.random() < 0.05 else None))
        if r.random() < 0.5:
            put(path + b"/info/exclude", rules(r))

    def worktree(self, main, top):
        """top as a linked worktree of main."""
        git = main + b"/.git"
        self.repository(git)
        put(git + b"/worktrees/w/HEAD", b"ref: refs/heads/w\n")
        put(git + b"/worktrees/w/commondir", b"../..\n")
        put(git + b"/worktrees/w/gitdir", top + b"/.git\n")
        if self.r.random() < 0.5:
            put(git + b"/worktrees/w/info/exclude", rules(self.r))      # git does not read it
        put(top + b"/.git", b"gitdir: %s/worktrees/w\n" % (
            git if self.r.random() < 0.5 else os.path.relpath(git, top)))

    def nested(self, path):
        """Makes the directory something with a .git."""
        kind = self.r.random()
        if kind < 0.45:
            self.repository(path + b"/.git")
        elif kind < 0.75:
            self.count += 1
            real = self.top + b"/../modules-of-it/m%d" % self.count
            self.repository(real)
            put(path + b"/.git", b"gitdir: %s\n" % (
                real if self.r.random() < 0.5 else os.path.relpath(real, path)))
        else:
            os.makedirs(path + b"/.git/info")       # no repository: it has no HEAD
            put(path + b"/.git/info/exclude", rules(self.r))

    def fill(self, path, depth):
        r = self.r
        for _ in range(r.randint(2, 7 if depth < 2 else 4)):
            name = path + b"/" + r.choice(NAMES)
            if os.path.lexists(name):
                continue
            if depth < 4 and r.random() < 0.5:
                os.mkdir(name)
                self.fill(name, depth + 1)
                if r.random() < 0.06:
                    self.nested(name)
            else:
                put(name, b"x\n")
        if depth == 0 or r.random() < 0.35:
            if r.random() < 0.04:
                os.symlink(b"a", path + b"/.gitignore")     # git follows none
            else:
                put(path + b"/.gitignore", rules(r))

    def git(self, top):
        """The files below top that git does not ignore, in nested repositories too."""
        out = subprocess.run(["git", "-C", top, "ls-files", "-o", "-z", "--exclude-standard"],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             env={**toolrun.CLEAN, "HOME": self.home,
                                  "GIT_CEILING_DIRECTORIES": os.path.dirname(self.home)}).stdout
        found = set()
        for name in out.split(b"\0")[:-1]:
            path = os.path.join(top, name)
            if name.endswith(b"/"):
                found |= self.git(path[:-1])
            elif os.path.isfile(path) and not os.path.islink(path):
                found.add(path)
        return found

    def ours(self, tools):
        text, is_error = tools(self.top, "Grep", pattern="^", head_limit=0)
        ats.check(not is_error, text)
        return {os.path.join(self.top, line) for line in text.split(b"\n")[1:]
                if not line.startswith(b"(")}


@toolrun.test("the files that Grep searches are those that git does not ignore")
def _():
    toolrun.have("git")
    first, count = int(os.environ.get("ATS_SEED", "0")), toolrun.rounds(25, 120)
    files = kept = 0
    with toolrun.Scratch() as base:
        home = os.path.join(base, "home")
        os.mkdir(home)
        tools = toolrun.Tools(home)
        bad = []
        for seed in range(first, first + count):
            top = os.path.join(home, "%d" % seed, "t")
            tree = Tree(random.Random(seed), top, home)
            want, got = tree.git(tree.top), tree.ours(tools)
            files += sum(len(f) for _, _, f in os.walk(top))
            kept += len(want)
            for path in sorted(want ^ got)[:3]:
                by = subprocess.run(["git", "-C", top, "check-ignore", "--no-index", "-v", "-n", path],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                                    env={**toolrun.CLEAN, "HOME": home}).stdout
                bad.append("tree %d: %r is %s; git's reason: %r" % (
                    seed, path[len(tree.top) + 1:],
                    "searched" if path in got else "ignored", by))
        tools.close()
        ats.check(not bad, "%d differences\n%s" % (len(bad), "\n".join(bad[:40])))
    print("# %d trees, %d files, %d of them not ignored" % (count, files, kept))


ats.main()
