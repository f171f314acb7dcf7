#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that are longer than one argument of execve may be (131,071 bytes): they do what
`bash -c` does with a shorter text of the same meaning."""
import hashlib
import os
import re

from box import Box, USERS, ats

ONE_ARGUMENT = (128 << 10) - 1
MOST = 1 << 20
SIZES = (100 << 10, ONE_ARGUMENT, ONE_ARGUMENT + 1, ONE_ARGUMENT + 2, 2 * ONE_ARGUMENT,
         2 * ONE_ARGUMENT + 1, MOST - 1, MOST)
# Behind each stands a comment, long or short.
COMMANDS = (
    "echo $0 $# [$@] $- $LINENO $_ ${#BASH_ARGV[@]} $BASH_SUBSHELL",
    "\necho $LINENO\nnosuch\ncd /none\necho ${x?no x}",
    "echo \"${BASH_EXECUTION_STRING%%#*}\"", "declare -p BASH_EXECUTION_STRING | head -c 40",
    "compgen -v | grep -v PIPESTATUS | sort; compgen -A function; alias; trap; shopt; set -o",
    "set -e; false; echo no", "set -u; echo $nope", "set -u; echo $1", "exit 7", "false", "fi",
    "trap 'echo bye $LINENO' EXIT\nexit 4", "trap 'echo err $LINENO' ERR\nfalse\ntrue",
    "trap 'echo t; exit 9' TERM; kill -TERM $$; echo no", "kill -TERM $$", "kill -KILL $$",
    "f() { caller; echo $FUNCNAME ${BASH_LINENO[@]} ${BASH_SOURCE[@]}; }\nf", "return 3",
    "cat <<E\na $HOME\nE\ncat <<'E'\n$HOME\nE", "read x; echo [$x] $?", "exec sh -c 'exit 6'",
    "echo a >&2; echo b", "printf '%s' \"$BASH_COMMAND\"", "shift; echo $?",
    "ls -l /proc/self/fd | awk '{print $9}' | sort | tr '\\n' ' '", "cd /tmp; echo $OLDPWD",
)


def document(size):
    """A command of that many bytes that digests most of them, and what it must print."""
    head, tail = "sha256sum <<'E'\n", "\nE\n"
    unit = "ä€😀 \"q\" 'q' $x `y` \\ \\n\t#{}\n"
    room = size - len(head) - len(tail)
    text = (unit * (room // len(unit.encode()) + 1)).encode()[:room].decode("utf-8", "ignore")
    text = text.ljust(len(text) + room - len(text.encode()), "z")
    command = head + text + tail
    ats.equal(len(command.encode()), size)
    return command, hashlib.sha256(text.encode() + b"\n").hexdigest() + "  -"


def shell(b, command):
    b.calls += 1
    b.link.send("call.tool", b.calls, {
        "name": "Bash", "input": {"command": command}, "ctx": {"cwd": b.ws}, "split": True,
        "deadline_ms": 20000, "session": "s-000000000001"})
    r = b.link.expect("result", call=b.calls).json
    out = r.get("output", {})
    return (r.get("exit_kind"), r.get("exit_code")), out.get("stdout", ""), out.get("stderr", "")


@ats.test("every byte of commands around the limits, in order", home=False)
def _():
    for uid in USERS:
        with Box(uid) as b:
            for size in SIZES:
                command, want = document(size)
                ats.equal(b.out(command), want, size)


@ats.test("over the schema's maximum: an error that names it", home=False)
def _():
    with Box(USERS[-1]) as b:
        r = b.sh("#" * (MOST + 1))
        ats.check(r.error, r.text)
        ats.contains(r.text, "command")
        ats.contains(r.text, str(MOST))


@ats.test("long and short: the same stdout, stderr and exit of %d commands" % len(COMMANDS),
          home=False)
def _():
    with Box(USERS[-1]) as b:
        bad = []
        for c in COMMANDS:
            got = shell(b, c + "\n#" + "x" * (ONE_ARGUMENT + 1))
            exit_, out, err = b.execute(["bash", "-c", c + "\n#"])
            want = exit_, out.decode(), err.decode()
            got = *got[:2], got[2].replace("bash: eval: ", "bash: -c: ")
            # the comment is part of the text that is shown
            got = got[0], re.sub("#x*", "#", got[1]), got[2]
            if got != want:
                bad.append("%r\n  long  %r\n  short %r" % (c, got, want))
        ats.check(not bad, "\n".join(bad))


@ats.test("a long command in the background, its output, and its end by KillShell", home=False)
def _():
    with Box(USERS[-1]) as b:
        command, want = document(MOST - 200)
        text = b.out(command + "trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.05; done",
                     run_in_background=True)
        id = re.search(r"bash_\d+", text).group(0)
        seen = [""]

        def up():
            seen[0] += b.tool("BashOutput", bash_id=id).text
            return "up" in seen[0]
        ats.until(up, "the output of a long command")
        ats.contains(seen[0], want)
        ats.check(not b.tool("KillShell", shell_id=id).error, "KillShell")
        ats.contains(b.tool("BashOutput", bash_id=id).text, "bye")


# In a mount namespace of its own /bin/bash is no program.
NO_BASH = ("/usr/bin/unshare", "-m", "/bin/sh", "-c",
           "for b in /bin/bash /usr/bin/bash; do test ! -x $b || mount --bind /dev/null $b; done; "
           "exec \"$@\"", "sh")


@ats.test("where there is no bash, sh gets the command, a long one too", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("needs root to hide bash")
    with Box(None, prefix=NO_BASH) as b:
        ats.equal(b.out("echo $0"), "sh")
        for size in SIZES:
            command, want = document(size)
            ats.equal(b.out(command), want, size)
        pad = "\n#" + "x" * ONE_ARGUMENT
        ats.equal(b.out("echo $0 $# [$@]\necho ${x-unset} $LINENO" + pad).split("\n")[0], "sh 0 []")
        ats.equal(b.sh("set -e; false; echo no" + pad).exit, ("exit", 1))
        ats.equal(b.sh("exit 7" + pad).exit, ("exit", 7))
        ats.equal(b.out("set | grep -e __ -e xxxx || echo nothing is left" + pad),
                  "nothing is left")


ats.main()
