#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workspaces whose repository lies elsewhere: linked work trees and submodules."""
import os
import shutil
import subprocess
import tempfile

from box import Box, USERS, ats

ENV = {"PATH": os.environ["PATH"], "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a", "GIT_CONFIG_NOSYSTEM": "1"}


def git(cwd, *args):
    subprocess.run(["git", "-c", "protocol.file.allow=always", "-c", "safe.directory=*", *args],
                   cwd=cwd, env={**ENV, "HOME": cwd}, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def repositories(name):
    """A test of TOP/main with a linked work tree TOP/tree and a submodule TOP/main/sub."""
    def register(fn):
        for uid in ats.some(USERS):
            def run(uid=uid):
                top = tempfile.mkdtemp(prefix="ats-trees-")
                os.chmod(top, 0o755)
                try:
                    for d in ("lib", "main"):
                        os.mkdir(os.path.join(top, d))
                        git(os.path.join(top, d), "init", "-q", "-b", "m")
                        git(os.path.join(top, d), "commit", "-q", "--allow-empty", "-m", "x")
                    main = os.path.join(top, "main")
                    git(main, "submodule", "add", "-q", os.path.join(top, "lib"), "sub")
                    git(main, "commit", "-q", "-m", "sub")
                    git(main, "worktree", "add", "-q", "../tree")
                    if uid is not None:
                        subprocess.run(["chown", "-R", "%d:%d" % (uid, uid), top], check=True)
                    fn(uid, top)
                finally:
                    shutil.rmtree(top, ignore_errors=True)
            ats.case("%s (uid %d)" % (name, os.geteuid() if uid is None else uid),
                     run, home=False)
        return fn
    return register


COMMIT = ("git -c user.name=b -c user.email=b@b commit -q --allow-empty -m inside && "
          "git status --porcelain && git log --oneline | wc -l")


def protected(b, top, repository):
    b.sh("cd {0}; for f in config hooks/pre-commit commondir info/attributes; do echo evil >> $f; "
         "done; mv hooks h; mv config c; mv {0} {0}2; mkdir {0}".format(repository))
    for at, _, files in os.walk(repository):
        for n in files:
            with open(os.path.join(at, n), "rb") as f:
                ats.check(b"evil" not in f.read() or ".quarantine" in at + n, at + "/" + n)
    ats.check(not os.path.exists(os.path.join(repository, "commondir")))
    ats.check(b.sh("ls %s" % os.path.join(top, "lib")).error, "more is seen")


@repositories("git works in a linked work tree, its repository stays protected")
def _(uid, top):
    with Box(uid, ws=os.path.join(top, "tree")) as b:
        ats.equal(b.confinement["verified"], True, b.confinement)
        ats.equal(b.out(COMMIT), "3")
        protected(b, top, os.path.join(top, "main/.git"))
        ats.check(b.sh("ls %s/main/.gitmodules" % top).error, "the other work tree is seen")
        ats.check(b.sh("echo /tmp > %s/main/.git/worktrees/tree/gitdir" % top).error)
        ats.check(b.sh("echo x > %s/main/.git/worktrees/tree/commondir" % top).error)
    git(os.path.join(top, "main"), "log", "tree")


@repositories("git works in a submodule, its repository stays protected")
def _(uid, top):
    with Box(uid, ws=os.path.join(top, "main/sub")) as b:
        ats.equal(b.out(COMMIT), "2")
        protected(b, top, os.path.join(top, "main/.git/modules/sub"))
        ats.check(b.sh("cat %s/main/.git/config" % top).error, "the outer repository is seen")


@repositories("a .git that names what does not name it in turn is left out")
def _(uid, top):
    for named in (os.path.join(top, "main/.git/worktrees/tree"), os.path.join(top, "main/.git"),
                  "../main/.git/modules/sub", "/etc", "/nowhere", top):
        ws = tempfile.mkdtemp(prefix="ws", dir=top)
        with open(os.path.join(ws, ".git"), "w", encoding="ascii") as f:
            f.write("gitdir: %s\n" % named)
        subprocess.run(["chown", "-R", "--reference", top, ws], check=True)
        with Box(uid, ws=ws) as b:
            ats.check(b.sh("ls %s/main" % top).error, named)
            ats.check(b.sh("git log").error, named)
            ats.contains(b.log(), "left out")


ats.main()
