#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Protected names, in each situation: read-only mounts where there is a view, put back where
there is none. Repositories of every kind that people keep in a workspace."""
import os
import shutil
import socket
import time

from place import OWN, ats, each

NAMES = (".git/config", ".git/hooks/pre-commit", ".git/info/exclude", ".mcp.json",
         ".claude/settings.json", ".claude/agents/a.md", ".vscode/tasks.json", ".envrc",
         ".gitmodules", ".husky/h")


@each("what exists stays, whatever is tried")
def _(p):
    for n in NAMES:
        p.write(n)
    p.write(".git/HEAD", "ref: refs/heads/main\n")
    os.symlink("settings.json", p.path(".claude/link"))
    os.chmod(p.path(".git/hooks/pre-commit"), 0o755)
    before = p.tree()
    with p.box() as b:
        ats.equal(b.confinement["protected"], "ro" if p.view else "restore")
        for attack in (
                "for f in %s; do echo evil > $f; done" % " ".join(NAMES),
                "for f in %s; do echo evil > n; mv -f n $f; done" % " ".join(NAMES),
                "rm -rf .claude .vscode .git/hooks .git/config .git/info .mcp.json",
                "mv .claude c2; mkdir .claude; echo evil > .claude/settings.json",
                "mv .git g2; mkdir -p .git/hooks; echo evil > .git/config",
                "mv .git/hooks .git/h2; mkdir .git/hooks; echo evil > .git/hooks/post-checkout",
                "rm -rf .claude; mkdir evil; echo evil > evil/settings.json; ln -s evil .claude",
                "ln .git/config c; echo evil >> c; ln .envrc e; echo evil >> e; rm -f c e",
                "chmod 777 .git/hooks/pre-commit .envrc; chmod -x .git/hooks/pre-commit",
                "echo evil > .git/hooks/post-merge; ln -sf /tmp .vscode; ln -sfn evil .claude/agents",
                "printf 'HOST\\n' > .envrc; printf 'HOST\\n' > .git/config",
                "echo evil > .git/commondir; echo evil > .git/config.worktree",
                "mkdir -p .git/x; mv .git/x .git/config.worktree; ln -s ../evil .git/commondir"):
            b.sh(attack)
            b.sh("rm -rf evil n g2 c2 .git/h2 .git/x c e")
            ats.missing(b.sh("true").text, "Names")
            ats.equal({k: v for k, v in p.tree().items()
                       if not k.startswith(("evil", "c2", "g2", "n"))}, before, attack)
            ats.check(os.access(p.path(".git/hooks/pre-commit"), os.X_OK), attack)
        # The rest of a repository is for working.
        ats.equal(b.out("echo x > .git/index; mkdir -p .git/objects/aa; cat .git/index .git/config"),
                  "x\nhost")


@each("file tools side by side complete no repository in which a config or hooks lie")
def _(p):
    names = ("HEAD", "objects/x", "refs/x", "config", "hooks/update")
    with p.box() as b:
        for i in range(10):
            made = [b.start("Write", file_path=p.path("d%d/%s" % (i, n)), content="x\n")
                    for n in names]
            results = [b.wait(call) for call in made]
            # All three that make one before both others, or all others before the last of them.
            ats.check(sum(not r.error for r in results) in (3, 4), [r.text for r in results])
            for r in results:
                ats.check(not r.error or "is protected" in r.text, r.text)


@each("what is put in their place meanwhile is named in the result")
def _(p):
    p.write(".git/HEAD")
    with p.box() as b:
        text = b.sh("echo evil > .mcp.json; mkdir .git/hooks; echo evil > .git/hooks/pre-commit;"
                    "echo printed").text
        ats.matches(text, r"printed\n\[Names that programs on the host .*quarantine")
        ats.check(not os.path.exists(p.path(".mcp.json")))
        ats.check(not os.path.exists(p.path(".git/hooks")))
        ats.check(os.path.isdir(p.path(".git/hooks.quarantine")))


@each("what the user changes between calls is the user's")
def _(p):
    p.write(".envrc", "one\n")
    p.write(".git/config", "one\n")
    p.write(".git/HEAD")
    with p.box() as b:
        b.sh("echo evil > .envrc; true")
        for turn in ("two\n", "three\n"):
            for n in (".envrc", ".git/config", ".mcp.json", ".claude/settings.json"):
                p.write(n + ".new", turn)
                os.rename(p.path(n + ".new"), p.path(n))
                if p.uid is not None or not p.view:
                    os.chown(p.path(n), p.uid or OWN, p.uid or OWN)
                    os.chown(os.path.dirname(p.path(n)), p.uid or OWN, p.uid or OWN)
            # A mount follows within moments; nothing tells when.
            ats.until(lambda: b.out("cat .envrc .git/config .mcp.json .claude/settings.json") ==
                      "\n".join([turn.strip()] * 4), "seen")
            b.sh("for f in .envrc .git/config .mcp.json .claude/settings.json; do echo evil > $f; "
                 "echo evil > n; mv -f n $f; done")
            for n in (".envrc", ".git/config", ".mcp.json", ".claude/settings.json"):
                ats.equal(p.read(n), turn, n)


@each("repositories in a repository, submodules and bare ones are protected")
def _(p):
    for d in ("lib", "main", "bare.git"):
        os.mkdir(p.path(d))
    p.git("init", "-q", "--bare", "bare.git")
    p.git("init", "-q", "lib")
    p.git("commit", "-q", "--allow-empty", "-m", "x", cwd="lib")
    p.git("init", "-q", "-b", "m", ".")
    p.git("submodule", "add", "-q", "./lib", "deps/sub")
    p.git("init", "-q", "deep/er/repo")
    shutil.rmtree(p.path("lib"))
    files = ("bare.git/config", ".git/modules/deps/sub/config", "deps/sub/.git",
             "deep/er/repo/.git/config", ".git/config", ".gitmodules")
    before = {n: p.read(n) for n in files}
    with p.box() as b:
        if not p.view:
            b.sh("true")
        b.sh("for f in %s; do echo evil > $f; echo evil > n; mv -f n $f; done; "
             "echo x > deep/er/repo/.mcp.json; echo x > deps/sub/.git/../.envrc;"
             "for d in bare.git .git/modules/deps/sub deep/er/repo/.git; do "
             "echo evil > $d/hooks/pre-commit; echo evil > $d/commondir; "
             "mv $d/hooks $d/h; mkdir $d/hooks; echo evil > $d/hooks/pre-push; done;"
             "mv .git/modules .git/m2; mv .git/modules/deps .git/modules/d; mv deps d2; mv deps/sub d3"
             % " ".join(files))
        if not p.view:
            b.sh("mv .git/m2 .git/modules; mv .git/modules/d .git/modules/deps; mv d2 deps; mv d3 deps/sub")
        for n in files:
            if p.view or not n.startswith((".git/modules", "deps")):
                ats.equal(p.read(n), before[n], n)
        for d in ("bare.git", "deep/er/repo/.git") + ((".git/modules/deps/sub",) if p.view else ()):
            for n in ("hooks/pre-commit", "hooks/pre-push", "commondir"):
                ats.check(not os.path.lexists(p.path(d + "/" + n)), d + "/" + n)
        ats.check(not os.path.exists(p.path("deep/er/repo/.mcp.json")))


@each("a repository that a call makes works, and is protected from then on")
def _(p):
    with p.box() as b:
        out = b.out("git init -q . && git config user.name x && git config user.email x@x && "
                    "echo a > a && git add a && git commit -qm a && git log --oneline | wc -l")
        ats.equal(out, "1")
        before = p.read(".git/config")

        def held():
            b.sh("git config core.fsmonitor evil; echo evil > .git/hooks/pre-commit;"
                 "mv .git g; mv .git/hooks .git/h")
            return p.read(".git/config") == before and \
                not os.path.exists(p.path(".git/hooks/pre-commit"))
        ats.until(held, "protected")
        if p.view:
            # Further down it is found when nothing runs.
            b.out("git init -q sub/repo")
            config = p.path("sub/repo/.git/config")
            inside = "grep -c sub/repo/.git/config /proc/self/mountinfo; true"
            ats.until(lambda: time.sleep(0.4) or b.out(inside) == "1", "found")
            ats.check(b.sh("echo evil >> sub/repo/.git/config").error)
            ats.missing(open(config, encoding="ascii").read(), "evil")
        ats.equal(b.out("echo b > b; git add b; git commit -qm b; git status --short -uno; git log "
                        "--oneline | wc -l"), "2")


@each("files where directories are expected, links and a workspace without a repository")
def _(p):
    for n in (".git/hooks", ".git/info", ".vscode", ".claude", ".husky", ".idea"):
        p.write(n)
    for n in (".git/config/x", ".mcp.json/x", ".envrc/x"):
        p.write(n)
    os.mkdir(p.path("other"))
    p.write("other/.git/config")
    p.write("other/.git/HEAD")
    os.symlink("other/.git", p.path("linked"))
    with p.box() as b:
        ats.equal(b.confinement["verified"], True, b.confinement)
        b.sh("echo evil > .claude; echo evil > .git/hooks; echo evil > .mcp.json/x; "
             "echo evil > linked/config; echo evil > other/.git/config; rm -rf .envrc .vscode")
        for n in (".claude", ".git/hooks", ".mcp.json/x", "other/.git/config", ".envrc/x", ".vscode"):
            ats.equal(p.read(n), "host\n", n)


@each("a .git that is a link starts, and is held")
def _(p):
    p.write("real/HEAD", "ref: refs/heads/main\n")
    p.write("real/config")
    for d in ("objects", "refs"):
        os.mkdir(p.path("real/" + d))
    os.symlink("real", p.path(".git"))
    os.symlink("nowhere", p.path(".claude"))
    with p.box() as b:
        ats.equal(b.confinement["verified"], True, b.confinement)
        b.sh("echo evil > .git/config; rm -f .git; mkdir .git; echo evil > .git/config; "
             "rm -f .claude; mkdir .claude; mkdir nowhere; echo evil > nowhere/settings.json")
        ats.equal(os.readlink(p.path(".git")), "real")
        ats.equal(os.readlink(p.path(".claude")), "nowhere")
        ats.equal(p.read("real/config"), "host\n")


@each("what a link leads to is not replaced with a directory on the way to it")
def _(p):
    p.write("config/claude/settings.json")
    os.symlink("config/claude", p.path(".claude"))
    with p.box() as b:
        b.sh("mv config c2; mkdir -p config/claude; echo evil > config/claude/settings.json")
        ats.equal(p.read(".claude/settings.json"), "host\n")
        ats.equal(b.out("echo x > config/other; cat config/other"), "x")


@each("nothing is left in the workspace, also after kill -9")
def _(p):
    p.git("init", "-q", "-b", "m", ".")
    p.write("a")
    p.git("add", "a")
    p.git("commit", "-qm", "a")
    before = p.tree()
    with p.box() as b:
        ats.equal(b.out("git status --porcelain --ignored; git log --oneline | wc -l"), "1")
        b.proc.kill()
        b.proc.wait()
    after = p.tree()
    for t in (before, after):
        t.pop(".git/index", None)
    ats.equal(after, before)


@each("calls side by side do not undo what is right", ("landlock",))
def _(p):
    p.write(".envrc")
    p.write(".claude/settings.json")
    with p.box() as b:
        slow = b.start("Bash", command="echo evil > .envrc; sleep 60")
        # Moved aside first, then written anew: in between there is none.
        ats.until(lambda: os.path.exists(p.path(".envrc.quarantine")) and
                  os.path.exists(p.path(".envrc")) and p.read(".envrc") == "host\n",
                  "put back while it runs")
        ats.equal(b.out("cat .envrc .claude/settings.json"), "host\nhost")
        b.link.send("control.cancel", slow, {})
        b.wait(slow)
        ats.equal(p.read(".envrc"), "host\n")
        ats.equal(p.read(".envrc.quarantine"), "evil\n")


@each("names that were used up do not keep a protected one in its place")
def _(p):
    p.write(".git/HEAD")
    p.write(".mcp.json")
    taken = "for n in .git/hooks .git/config .envrc .mcp.json; do touch $n.quarantine; " \
        "for i in $(seq 2 70); do touch $n.quarantine.$i; done; done; "
    with p.box() as b:
        b.sh(taken + "mkdir .git/hooks; echo evil > .git/hooks/pre-commit; "
             "echo evil > .git/config; echo evil > .envrc; echo evil > .mcp.json; true")
        for n in (".git/hooks", ".git/config", ".envrc"):
            ats.check(not os.path.lexists(p.path(n)), n)
        ats.equal(p.read(".mcp.json"), "host\n")
        ats.equal(b.out("echo alive"), "alive")


@each("a directory that is shut keeps nothing in its place")
def _(p):
    p.write(".git/HEAD")
    p.write(".git/config")
    for mode in ("555", "311", "111", "000"):
        with p.box() as b:
            b.sh("mkdir h; echo evil > h/pre-commit; mv h .git/hooks; echo evil >> .git/config; "
                 "echo evil > .envrc; chmod %s .git; chmod %s ." % (mode, mode))
            # Once more, with somebody who shuts it again and again.
            b.sh("(while :; do mkdir .git/hooks && echo evil > .git/hooks/pre-commit; "
                 "echo evil >> .git/config; chmod %s .git .; chmod 755 . .git; done) 2>/dev/null & "
                 "sleep 0.3; chmod %s .git; kill -9 %%1; chmod %s .git" % (mode, mode, mode))
            ats.equal(b.out("echo alive"), "alive")
        os.chmod(p.ws, 0o755)
        os.chmod(p.path(".git"), 0o755)
        for n in (".git/hooks", ".envrc"):
            ats.check(not os.path.lexists(p.path(n)), "%s %s" % (mode, n))
        ats.equal(p.read(".git/config"), "host\n", mode)


@each("a link that is removed comes back once, and litters nothing")
def _(p):
    p.write("real.json")
    os.symlink("real.json", p.path(".claude.json"))
    os.symlink("nowhere", p.path(".idea"))
    with p.box() as b:
        b.sh("rm .claude.json .idea; sleep 0.3; ls -A")
        ats.equal(os.readlink(p.path(".claude.json")), "real.json")
        ats.equal(os.readlink(p.path(".idea")), "nowhere")
        ats.equal([n for n in os.listdir(p.ws) if ".quarantine" in n], [])


@each("what a call litters does not crowd the user's repositories and sockets out",
      long=ats.WHOLLY)
def _(p):
    deep = "/".join("d" * 20)
    repositories = ("zz", "node_modules/n", deep, ".git/modules/zz")
    p.git("init", "-q", ".")
    for r in repositories[:3]:
        os.makedirs(p.path(r))
        p.git("init", "-q", cwd=r)
    p.git("init", "-q", "--bare", ".git/modules/zz")
    with p.box() as b:      # all of a size that a look through it must not end at
        b.out("for i in $(seq 70); do mkdir -p r$i/.git; done; mkdir files; cd files; "
              "seq 30000 | xargs touch; mkdir -p ../.git/modules; cd ../.git/modules; "
              "seq 300 | xargs touch")
        if p.view:
            b.out("python3 -c 'import socket\nfor i in range(100): "
                  "socket.socket(socket.AF_UNIX).bind(\"q%d\" % i)'")
    host = socket.socket(socket.AF_UNIX)
    host.bind(p.path("zz/host"))
    host.listen()
    os.chmod(p.path("zz/host"), 0o777)
    with host, p.box() as b:
        ats.missing(b.confinement["gaps"], "nested-repositories")
        for r in repositories:
            git = r if r.startswith(".git/") else r + "/.git"
            b.sh("mkdir -p %s/hooks; echo evil >> %s/config; echo evil > %s/hooks/post-checkout"
                 % (git, git, git))
            ats.missing(p.read(git + "/config"), "evil", git)
            ats.check(not os.path.exists(p.path(git + "/hooks/post-checkout")), git)
        if p.view:
            ats.missing(b.sh("python3 -c 'import socket; socket.socket(socket.AF_UNIX)"
                             ".connect(\"zz/host\"); print(\"open\")'").text, "open")


@each("the directory of a repository is not moved with what is in it", ("namespaces",))
def _(p):
    os.makedirs(p.path("a/zz"))
    p.git("init", "-q", cwd="a/zz")
    p.git("init", "-q", "--bare", "store")
    with p.box() as b:
        for what in ("a", "a/zz", "a/zz/.git", "store", "store/objects", "store/refs"):
            b.sh("mv %s moved" % what)
            ats.check(os.path.isdir(p.path(what)), what)


@each("no command runs where not all can be looked at")
def _(p):
    fd = os.open(p.ws, os.O_PATH)
    for _ in range(140):    # deeper than a look goes
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_PATH, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    with p.box() as b:
        ats.contains(b.confinement["gaps"], "nested-repositories")
        r = b.sh("echo ran")
        ats.contains(r.text, "cannot be looked through as a whole")
        ats.missing(r.text, "ran\n")


@each("git's own configuration can be opened, and only that")
def _(p):
    p.git("init", "-q", "-b", "m", ".")
    with p.box("git_config=1") as b:
        ats.contains(b.confinement["gaps"], "git-config")
        ats.equal(b.confinement["verified"], True, b.confinement)
        ats.equal(b.out("git config x.y z && git remote add o /nowhere && git config x.y"), "z")
        b.sh("echo evil > .git/hooks/pre-commit; echo evil > .git/commondir")
        ats.contains(p.read(".git/config"), "remote")
        ats.check(not os.path.exists(p.path(".git/hooks/pre-commit")))
        ats.check(not os.path.exists(p.path(".git/commondir")))


@each("start-up files of one call do not run in the next")
def _(p):
    with p.box() as b:
        b.sh("for f in .bashrc .profile .bash_profile .zshenv; do echo 'echo evil' > ~/$f; done")
        ats.missing(b.sh("bash -lc true; bash -ic true 2>&1; cat ~/.bashrc ~/.profile").text, "evil")
        b.out("git config --global user.name x; mkdir ~/.vscode")


ats.main()
