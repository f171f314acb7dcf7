# SPDX-License-Identifier: Apache-2.0
"""Names in the workspace that programs of the host trust: they stay as the host made them,
and those that are not there do not come from a tool."""
import os

from contain.base import check

MODIFY = 'echo evil >> "$f"; echo evil > n; mv -f n "$f"; rm -rf "$f"; echo evil > "$f"'


def planted(*names):
    """A verify: none of the names holds anything of a tool's, nor is a link to it."""
    def verify(c):
        bad = [n for n in names if os.path.islink(c.path(n)) or "evil" in c.read(n)
               or (os.path.isfile(c.path(n)) and os.access(c.path(n), os.X_OK) and
                   "host" not in c.read(n))]
        return "planted: %s" % " ".join(bad) if bad else None
    return verify


def kept(**names):
    """A verify: the names (file__ext) hold what the host wrote, and nothing else."""
    def verify(c):
        bad = ["%s (%.40r)" % (n, c.read(n)) for n, text in names.items() if c.read(n) != text]
        return "changed: %s" % " ".join(bad) if bad else None
    return verify


def repository(*more):
    def setup(c):
        c.host("git", "init", "-q", ".")
        for d in (".git/hooks", ".git/info"):
            os.makedirs(c.path(d), exist_ok=True)
        c.write(".git/config", "[core]\n\tbare = false\n")
        for name in more:
            c.write(name)
    return setup


check("git-hooks", ".git/hooks stays as it is",
      "for h in pre-commit post-checkout post-merge fsmonitor-watchman; do "
      "printf '#!/bin/sh\\necho evil\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done; "
      "mv .git/hooks .git/h2; mkdir .git/hooks; echo evil > .git/hooks/pre-push",
      setup=repository(), quick=True,
      verify=planted(*[".git/hooks/" + h for h in ("pre-commit", "post-checkout", "post-merge",
                                                   "fsmonitor-watchman", "pre-push")]))
check("git-config", ".git/config stays as it is",
      "git config core.fsmonitor evil; f=.git/config; " + MODIFY, setup=repository(),
      verify=kept(**{".git/config": "[core]\n\tbare = false\n"}))
check("git-others", "nor do the other files of .git come from a tool that name programs",
      "echo evil > .git/config.worktree; mkdir -p .git/info; echo '* filter=evil' > "
      ".git/info/attributes; echo evil > .git/info/sparse-checkout; echo evil > .git/info/grafts",
      setup=repository(),
      verify=planted(".git/config.worktree", ".git/info/attributes", ".git/info/sparse-checkout"))
check("git-replace", "the whole .git is not replaced by another one",
      "mv .git old; cp -r old .git && echo evil > .git/config; rm -rf .git; mkdir .git; "
      "echo evil > .git/config; rm -rf .git; echo 'gitdir: evil' > .git",
      setup=repository(), verify=kept(**{".git/config": "[core]\n\tbare = false\n"}))
check("git-replace-after", "nor when it was put back meanwhile and is removed then",
      "mv .git old && cp -r old .git; for i in $(seq 300); do [ -e old ] || break; sleep .01; "
      "done; rm -rf .git; mkdir .git; echo evil > .git/config; rm -rf .git; echo 'gitdir: evil' > .git",
      setup=repository(), verify=kept(**{".git/config": "[core]\n\tbare = false\n"}))
check("git-worktree", "the .git file of a worktree or submodule stays as it is",
      "f=.git; " + MODIFY + "; mkdir -p evil/hooks; echo 'gitdir: evil' > .git",
      setup=lambda c: c.write(".git", "gitdir: /nowhere/at-all\n"),
      verify=kept(**{".git": "gitdir: /nowhere/at-all\n"}))


def nested(c):
    for d in ("sub", "a/b/c"):
        c.host("git", "init", "-q", d)
        c.write(d + "/.git/config", "host\n")


check("git-nested", "repositories below the workspace are protected as it is",
      "for d in sub a/b/c; do echo evil > $d/.git/hooks/pre-commit; "
      "chmod +x $d/.git/hooks/pre-commit; f=$d/.git/config; " + MODIFY +
      "; mv $d/.git $d/g; mkdir $d/.git; echo evil > $d/.git/config; done",
      setup=nested,
      verify=lambda c: kept(**{"sub/.git/config": "host\n", "a/b/c/.git/config": "host\n"})(c) or
      planted("sub/.git/hooks/pre-commit", "a/b/c/.git/hooks/pre-commit")(c))
check("git-made", "a repository that a tool makes has no hook of its own",
      "git init -q . || mkdir .git; mkdir -p .git/hooks; printf '#!/bin/sh\\nevil\\n' > "
      ".git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.fsmonitor evil; "
      "echo '[core]' >> .git/config; echo 'fsmonitor = evil' >> .git/config",
      verify=planted(".git/hooks/pre-commit", ".git/config"))
check("git-made-nested", "nor has one that it makes further down",
      "git init -q d || mkdir -p d/.git; mkdir -p d/.git/hooks; printf '#!/bin/sh\\nevil\\n' > "
      "d/.git/hooks/pre-commit; chmod +x d/.git/hooks/pre-commit",
      verify=planted("d/.git/hooks/pre-commit"))
BARE = "mkdir -p objects refs/heads; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\n\\t" \
    "repositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = \": > ran; " \
    "false\"\\n' > config; "


def git_runs_nothing(*at):
    """A verify: git on the host, asked for the status there, starts no program of a tool's."""
    def verify(c):
        for d in at:
            c.host("sh", "-c", "cd '%s' && git -c safe.directory='*' status || :" % c.path(d))
            if os.path.exists(c.path(os.path.join(d, "ran"))):
                return "git in %r ran it" % d
        return None
    return verify


check("git-bare", "the workspace is not made a repository itself that names programs", BARE,
      verify=git_runs_nothing("."), quick=True)
check("git-bare-instead", "nor in place of a .git that was made useless, there and further down",
      "for d in . sub a/b/c; do (cd $d; mv .git/HEAD .git/h || exit; " + BARE + "); done",
      setup=lambda c: (c.host("git", "init", "-q", "."), nested(c)),
      verify=git_runs_nothing(".", "sub", "a/b/c"))
check("mcp-made", ".mcp.json does not come from a tool",
      "echo evil > .mcp.json; echo evil > x; mv x .mcp.json; ln -f x .mcp.json; "
      "cp /etc/hostname .mcp.json", quick=True,
      verify=lambda c: "is there: %s" % c.read(".mcp.json")[:60]
      if os.path.lexists(c.path(".mcp.json")) and c.read(".mcp.json") else None)
check("mcp-changed", "a .mcp.json that is there stays as it is", "f=.mcp.json; " + MODIFY,
      setup=lambda c: c.write(".mcp.json", "{}\n"), verify=kept(**{".mcp.json": "{}\n"}))
check("claude-made", ".claude does not come from a tool",
      "mkdir -p .claude/hooks; echo evil > .claude/settings.json; echo evil > "
      ".claude/settings.local.json; mkdir e; echo evil > e/settings.json; mv e .claude",
      verify=planted(".claude/settings.json", ".claude/settings.local.json"))


def claude(c):
    for name in ("settings.json", "commands/a.md", "agents/a.md", "skills/a/SKILL.md"):
        c.write(".claude/" + name)


check("claude-changed", "a .claude that is there stays as it is, with all below",
      "for f in settings.json commands/evil.md agents/e.md skills/a/SKILL.md; do "
      "echo evil > .claude/$f; done; mv .claude c2 && cp -r c2 .claude && "
      "echo evil > .claude/settings.json; rm -rf .claude; mkdir .claude; "
      "echo evil > .claude/settings.json", setup=claude,
      verify=lambda c: kept(**{".claude/settings.json": "host\n", ".claude/agents/a.md": "host\n",
                               ".claude/skills/a/SKILL.md": "host\n"})(c) or
      planted(".claude/commands/evil.md", ".claude/agents/e.md")(c))
check("claude-link", "a protected name is not a link to what tools may write",
      "mkdir evil; echo evil > evil/settings.json; ln -s evil .claude; ln -s evil .vscode; "
      "ln -s evil/settings.json .mcp.json; ln -s evil .idea",
      verify=planted(".claude", ".vscode", ".mcp.json", ".idea"))
NAMES = (".vscode/tasks.json", ".vscode/settings.json", ".envrc", ".bashrc", ".idea/workspace.xml",
         ".husky/pre-commit", ".kiro/settings/mcp.json", "opencode.json", ".gitmodules", ".profile",
         ".zshrc", ".gitconfig", ".bash_profile")
check("editors-changed", "files that editors and shells run stay as they are",
      "for f in %s; do echo evil > $f; echo evil > n; mv -f n $f; done" % " ".join(NAMES),
      setup=lambda c: [c.write(n) for n in NAMES], verify=kept(**{n: "host\n" for n in NAMES}))
check("editors-made", "nor do they come from a tool",
      "for f in %s; do mkdir -p $(dirname $f); echo evil > $f; done" % " ".join(NAMES),
      verify=planted(*NAMES))
check("mode-kept", "what is protected does not become executable or writable by others",
      "chmod 777 .envrc .git/config .git/hooks/pre-commit .mcp.json; touch -d @1000 .envrc",
      setup=repository(".envrc", ".mcp.json", ".git/hooks/pre-commit"),
      verify=lambda c: "mode changed" if any(
          os.stat(c.path(n)).st_mode & 0o022 for n in (".envrc", ".git/config", ".mcp.json"))
      or os.stat(c.path(".git/hooks/pre-commit")).st_mode & 0o111 else None)
check("second-name", "a second name of a protected file does not open it",
      "ln .git/config a && echo evil >> a; ln .mcp.json b && echo evil >> b; "
      "ln -P .envrc d && echo evil >> d; ln .git/hooks/pre-commit e && echo evil >> e",
      setup=repository(".mcp.json", ".envrc", ".git/hooks/pre-commit"),
      verify=lambda c: kept(**{".mcp.json": "host\n", ".envrc": "host\n",
                               ".git/hooks/pre-commit": "host\n",
                               ".git/config": "[core]\n\tbare = false\n"})(c))
check("quarantine-kept", "what was moved aside stays aside",
      "echo evil > .mcp.json; for i in 1 2 3 4 5 6 7 8; do sleep 0.02; "
      "mv .mcp.json.quarantine .mcp.json; done",
      verify=planted(".mcp.json"), again="mv .mcp.json.quarantine .mcp.json; true")
check("quarantine-full", "names for what is moved aside cannot be used up",
      "for n in .git/hooks .envrc; do touch $n.quarantine; for i in $(seq 2 70); do "
      "touch $n.quarantine.$i; done; done; rm -rf .git/hooks; mkdir .git/hooks; "
      "echo evil > .git/hooks/pre-commit; echo evil > .envrc", setup=repository(),
      verify=planted(".git/hooks/pre-commit", ".envrc"))
check("quarantine-shut", "nor is what is made kept by the mode of its directory",
      "mkdir h; echo evil > h/pre-commit; mv h .git/hooks; echo evil >> .git/config; "
      "echo evil > .envrc; chmod 555 .git .",
      setup=lambda c: (c.host("git", "init", "-q", "."), c.host("rm", "-rf", ".git/hooks"),
                       c.write(".git/config", "host\n")),
      verify=lambda c: planted(".git/hooks/pre-commit", ".envrc")(c) or
      kept(**{".git/config": "host\n"})(c), again="true")
check("case-names", "another spelling of a protected path is the same path",
      "echo evil > ./.git//hooks/../config; echo evil > .git/./hooks/pre-commit; "
      "d=$PWD; cd /; echo evil > \"$d/.git/config\"; cd \"$d/.git/hooks\" && echo evil > pre-push; "
      "echo evil > /proc/self/cwd/pre-merge", setup=repository(),
      verify=lambda c: kept(**{".git/config": "[core]\n\tbare = false\n"})(c) or
      planted(".git/hooks/pre-commit", ".git/hooks/pre-push", ".git/hooks/pre-merge")(c))
