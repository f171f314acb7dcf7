#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Toolchains below $HOME: what PATH reaches works inside, what lies beside it is not there."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

SECRET = "token-4711"


def put(home, name, text, mode=0o644):
    path = os.path.join(home.home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def furnish(home, **sandbox):
    """A home with toolchains and secrets, private to its owner; a client in a brain of it."""
    put(home, ".cargo/bin/cargo", "#!/bin/sh\nexec %s/.rustup/toolchains/x/bin/cargo \"$@\"\n" %
        home.home, 0o755)
    put(home, ".rustup/toolchains/x/bin/cargo",
        "#!/bin/sh\necho cargo of $RUSTUP_HOME, $1; cat $CARGO_HOME/registry/crate\n", 0o755)
    put(home, ".cargo/registry/crate", "a crate\n")
    put(home, ".pyenv/shims/python-of-pyenv",
        "#!/bin/sh\nexec \"$PYENV_ROOT/versions/3/bin/python\" \"$@\"\n", 0o755)
    os.makedirs(os.path.join(home.home, ".pyenv/versions/3/bin"))
    os.symlink("/usr/bin/python3", os.path.join(home.home, ".pyenv/versions/3/bin/python"))
    put(home, ".nvm/versions/node/v1/bin/node-of-nvm", "#!/bin/sh\necho node of $NVM_DIR\n", 0o755)
    put(home, ".local/share/uv/tools/t/bin/tool", "#!/bin/sh\necho a tool\n", 0o755)
    os.makedirs(os.path.join(home.home, ".local/bin"))
    os.symlink("../share/uv/tools/t/bin/tool", os.path.join(home.home, ".local/bin/tool"))
    for name in (".cargo/credentials", ".cargo/credentials.toml", ".npmrc", ".ssh/id", ".pypirc",
                 ".pyenv/versions/3/pip.conf", ".pyenv/.git/config", ".pyenv/.netrc",
                 ".nvm/versions/node/v1/etc/npmrc", ".nvm/.npmrc", "bin/mine",
                 ".local/share/uv/credentials/credentials.toml", ".local/share/keyrings/k",
                 ".nvm/dotfiles/of-auth"):
        put(home, name, SECRET, 0o755)
    os.symlink("dotfiles/of-auth", os.path.join(home.home, ".nvm/auth.json"))
    if home.uid is not None:
        for at, dirs, files in os.walk(home.home):
            for n in dirs + files:
                os.lchown(os.path.join(at, n), home.uid, home.uid)
    home.env["PATH"] = ":".join(os.path.join(home.home, d) for d in (
        "bin", ".cargo/bin", ".pyenv/shims", ".nvm/versions/node/v1/bin", ".local/bin")) + \
        ":/usr/bin:/bin"
    if sandbox:
        home.configure({"sandbox": sandbox})
    m = home.mcp()
    m.initialize()
    return m


@ats.test("toolchains work, and no credential of the home directory can be read", users=True)
def _(home):
    m = furnish(home)
    ats.equal(m.text("Bash", command="cargo build; node-of-nvm; tool"),
              "cargo of %s/.rustup, build\na crate\nnode of %s/.nvm\na tool" %
              (home.home, home.home))
    ats.equal(m.text("Bash", command="python-of-pyenv -c 'print(6 * 7)'"), "42")
    ats.equal(m.text("Bash", command="echo $HOME; command -v mine; ls -A %s | sort" % home.home),
              "/home/agent\n.cargo\n.local\n.nvm\n.pyenv\n.rustup")
    ats.equal(m.text("Bash", command="ls -A %s/.cargo %s/.local %s/.local/share | xargs" %
                     ((home.home,) * 3)),
              "{0}/.cargo: bin registry {0}/.local: bin share {0}/.local/share: uv".format(home.home))
    text = m.text("Bash", command="grep -rs %s %s; find %s -type f -o -type c | xargs cat; echo done" %
                  (SECRET, home.home, home.home))
    ats.missing(text, SECRET)
    ats.contains(text, "done")


@ats.test("they cannot be changed or replaced", users=True)
def _(home):
    m = furnish(home)
    for cmd in ("echo x > {0}/.cargo/bin/cargo", "touch {0}/.cargo/bin/new", "mkdir {0}/.ssh",
                "mv {0} /tmp/away", "mv {0}/.cargo {0}/c", "rm -rf {0}/.pyenv/shims",
                "touch {0}/.cargo/credentials", "rm -f {0}/.nvm/.npmrc"):
        ats.check(m.error("Bash", command=cmd.format(home.home)) != "", cmd)
    ats.equal(sorted(os.listdir(os.path.join(home.home, ".cargo/bin"))), ["cargo"])
    # What the user adds is there at once; a credential beside it is not.
    put(home, ".cargo/bin/new", "#!/bin/sh\necho new\n", 0o755)
    put(home, ".cargo/credentials.toml", SECRET)
    ats.equal(m.text("Bash", command="new; cat %s/.cargo/credentials.toml 2>&1 | grep -c No" %
                     home.home), "new\n1")


@ats.test("a switch leaves them out, configured variables win")
def _(home):
    m = furnish(home, toolchains=False)
    text = m.text("Bash", command="ls -A %s/.cargo %s/.nvm 2>&1; command -v cargo tool; echo done" %
                  (home.home, home.home))
    ats.equal(text.count("No such file"), 2, text)
    ats.missing(text, "bin/cargo")
    ats.missing(m.text("Bash", command="echo $PATH"), home.home)


@ats.test("a configured PATH is the PATH")
def _(home):
    m = furnish(home, env={"PATH": "/usr/bin:/bin", "NVM_DIR": "/x"})
    ats.equal(m.text("Bash", command="echo $PATH $NVM_DIR"), "/usr/bin:/bin /x")
    ats.contains(m.text("Bash", command="%s/.cargo/bin/cargo x" % home.home), "cargo of")


ats.main()
