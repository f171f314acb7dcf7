# SPDX-License-Identifier: Apache-2.0
"""What comes with the launch, and what stays for the next one."""
import os

from contain.base import check


def proof(c):
    """A verify: nothing that was planted ran outside."""
    return "it ran outside" if os.path.exists(os.path.join(c.out, "ran")) else None


def preload(c):
    source = c.path("p.c")
    c.write("p.c", '#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) '
            'static void f(void) { close(open("%s/ran", O_CREAT | O_WRONLY, 0600)); }\n' % c.out)
    c.host("cc", "-shared", "-fPIC", "-o", c.path("p.so"), source)
    c.poison = {"LD_PRELOAD": c.path("p.so"), "LD_AUDIT": c.path("p.so"),
                "LD_LIBRARY_PATH": c.ws, "GCONV_PATH": c.ws}


def shell_env(c):
    c.write("evil.sh", ': > "%s/ran"\n' % c.out)
    c.poison = {"BASH_ENV": c.path("evil.sh"), "ENV": c.path("evil.sh"),
                "PROMPT_COMMAND": ". " + c.path("evil.sh"), "PS4": "$(: > %s/ran)" % c.out,
                "SHELLOPTS": "xtrace", "BASH_FUNC_true%%": "() { : > %s/ran; }" % c.out}


def interpreters(c):
    c.write("evil.js", 'require("fs").writeFileSync("%s/ran", "x")\n' % c.out)
    c.write("sitecustomize.py", "open('%s/ran', 'w')\n" % c.out)
    c.write("evil", '#!/bin/sh\n: > "%s/ran"\n' % c.out, 0o755)
    c.poison = {"NODE_OPTIONS": "--require=" + c.path("evil.js"), "PYTHONPATH": c.ws,
                "PYTHONSTARTUP": c.path("sitecustomize.py"), "PERL5OPT": "-I%s -Mevil" % c.ws,
                "RUBYOPT": "-r" + c.path("evil"), "GIT_EXTERNAL_DIFF": c.path("evil"),
                "GIT_SSH_COMMAND": c.path("evil"), "EDITOR": c.path("evil"),
                "PAGER": c.path("evil"), "LESSOPEN": "|%s %%s" % c.path("evil")}


def path(c):
    for name in ("bash", "sh", "env", "git", "mount", "newuidmap", "ip", "python3", "fusermount"):
        c.write(name, '#!/bin/sh\n: > "%s/ran"\n' % c.out, 0o755)
    c.poison = {"PATH": c.ws + ":" + os.environ.get("PATH", "/usr/bin:/bin"), "IFS": "/",
                "SHELL": c.path("bash")}


check("preload", "LD_PRELOAD of the launch runs nothing outside", "true", setup=preload,
      verify=proof, mode="poison", quick=True)
check("shell-env", "nor do BASH_ENV and its kin", "true", setup=shell_env, verify=proof,
      mode="poison")
check("interpreter-env", "nor do those of other interpreters",
      "python3 -c ''; node -e '' 2>/dev/null; git --version", setup=interpreters, verify=proof,
      mode="poison")
check("path-env", "nor do programs in a PATH that begins in the workspace",
      "env true; git --version", setup=path, verify=proof, mode="poison")
check("env-inherited", "none of that is in the tool's own environment",
      'env | grep -E "^(LD_|BASH_ENV|ENV=|NODE_OPTIONS|PYTHON|GIT_|PERL5|IFS)" && '
      'say escaped "inherited"; say refused "no more"',
      setup=lambda c: (shell_env(c), c.poison.update(NODE_OPTIONS="--no-warnings",
                                                     GIT_DIR="/nowhere", PYTHONPATH=c.ws)),
      mode="poison")
check("next-call-home", "start-up files that one call leaves do not run in the next",
      "for f in .bashrc .bash_profile .profile .zshenv .bash_login .bash_logout; do "
      "echo 'echo escaped: start-up file of an earlier call' >> \"$HOME/$f\"; done; "
      "mkdir -p \"$HOME/bin\"; true", again="bash -lc true; bash -ic true; sh -lc true; true")
check("next-call-process", "nothing runs on into the next call",
      "setsid sh -c 'while :; do echo x >> late; sleep 0.05; done' >/dev/null 2>&1 & "
      "for i in 1 2 3 4 5 6 7 8 9; do [ -e late ] && break; sleep 0.05; done",
      again="a=$(wc -c < late 2>/dev/null || echo 0); sleep 0.3; "
      "b=$(wc -c < late 2>/dev/null || echo 0); "
      "[ \"$b\" -gt \"$a\" ] && say escaped 'it is still there'; say refused 'ended'; rm -f late",
      verify=lambda c: c.host("rm", "-f", "late"))
