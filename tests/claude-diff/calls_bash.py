# SPDX-License-Identifier: Apache-2.0
"""The table of calls: Bash and its background commands."""
from table import Mode, Survivors, bash, case, directory, kill, output

# ---- what a command prints ------------------------------------------------------------------
case("bash.echo", "one line", {}, bash("echo hi"))
case("bash.silent", "no output", {}, bash("true"), raw=("silent",))
case("bash.stderr", "stderr alone, success", {}, bash("echo e >&2"))
case("bash.order", "stdout and stderr in order of time", {},
     bash("echo a; echo b >&2; echo c; echo d >&2"))
case("bash.order-fails", "the same, then a failure", {},
     bash("echo a; echo b >&2; echo c; echo d >&2; exit 1"))
case("bash.blank-lines", "blank lines and indentation around the output", {},
     bash("printf '\\n\\n  x  \\n\\n'"))
case("bash.indent", "the first line is indented", {}, bash("printf '   x\\n  y\\n'"))
case("bash.nul", "a NUL", {}, bash("printf 'a\\0b'"))
case("bash.bytes", "bytes that are not UTF-8", {}, bash("printf 'a\\377\\376b'"))
case("bash.ansi", "colours", {}, bash("printf '\\033[31mred\\033[0m\\n'"))
case("bash.return", "a carriage return", {}, bash("printf '10%%\\r20%%\\n'"))
case("bash.split-utf8", "a character in two writes (23)", {},
     bash("python3 -c \"import os,time;os.write(1,b'\\\\xe2');time.sleep(.1);"
          "os.write(1,b'\\\\x80\\\\x94')\""))
case("bash.wide", "50,000 characters of three bytes (23)", {},
     bash("python3 -c \"print(chr(0x4f60)*50000)\""))
case("bash.long", "more than 30,000 characters", {}, bash("seq 1 20000"))
case("bash.long-fails", "the error is at the end of a long output", {},
     bash("seq 1 20000; echo the error >&2; exit 2"))
case("bash.image", "a data URL is an image", {}, bash(
    "printf data:image/png\\;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4"
    "2mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), raw=("image",))

# ---- how a command ends -------------------------------------------------------------------
case("bash.exit", "exit 3", {}, bash("echo out; exit 3"))
case("bash.exit-silent", "exit 3 without output", {}, bash("exit 3"))
case("bash.grep-none", "grep finds nothing: exit 1", {}, bash("grep x /dev/null"),
     raw=("meaning",))
case("bash.diff-some", "diff finds differences: exit 1", {"a": "1\n", "b": "2\n"},
     bash("diff $W/a $W/b"))
case("bash.test-false", "test is false: exit 1", {}, bash("test 1 = 2"))
case("bash.find-some", "find cannot enter a directory: exit 1",
     {"f": "", "sub": Mode(0, directory)}, bash("find $W -name f"))
case("bash.not-found", "no such command: 127", {}, bash("nosuchcommand-x"),
     raw=("exit-words", "bash-name",))
case("bash.syntax", "a syntax error", {}, bash("if then"))
case("bash.segv", "the command ends by SIGSEGV", {}, bash("sh -c 'kill -SEGV $$'"))
case("bash.shell-killed", "the shell itself is killed", {}, bash("echo a; kill -9 $$"))
case("bash.timeout", "a time limit; the output so far", {},
     bash("echo start; sleep 30", timeout=1000), raw=("time-limit",))
case("bash.timeout-string", "the limit as a string", {},
     bash("echo start; sleep 30", timeout="1000"))
case("bash.timeout-pipe", "children hold the pipe at the time limit (14)", {},
     bash("cd $W; mkfifo p; (while :; do echo c; sleep 9; done) > p & cat $W/p", timeout=1500),
     alone=True)
case("bash.timeout-tree", "children and the time limit (16)", {},
     bash("for i in 1 2; do sleep 3171 & done; sleep 60", timeout=1000), Survivors("sleep 3171"),
     alone=True)
case("bash.timeout-setsid", "a child in a session of its own and the time limit", {},
     bash("setsid sleep 3172 & sleep 60", timeout=1000), Survivors("sleep 3172"), alone=True)
case("bash.child-holds", "a child that goes on holds the pipe (104)", {},
     bash("sleep 3173 & echo done"), Survivors("sleep 3173"), alone=True, deadline=3)
case("bash.nohup", "nohup in the foreground call", {},
     bash("nohup sleep 3174 >/dev/null 2>&1 & echo done"), Survivors("sleep 3174"), alone=True,
     raw=("left-over",))
case("bash.ppid", "kill -9 $PPID (30)", {}, bash("kill -9 $PPID; echo x"), bash("echo alive"),
     alone=True)
case("bash.exec", "exec replaces the shell", {}, bash("exec echo hi"))
case("bash.exit-trap", "an EXIT trap prints", {}, bash("trap 'echo bye' EXIT; echo hi"))

# ---- what stays and what does not -----------------------------------------------------------
case("bash.cd-stays", "cd stays", {"d/f": ""}, bash("cd $W/d"), bash("pwd; ls"), alone=True)
case("bash.cd-fails", "cd fails", {}, bash("cd $W/nosuch"), bash("pwd"), alone=True)
case("bash.cd-then-fails", "cd, then the command fails", {"d/f": ""}, bash("cd $W/d; false"),
     bash("pwd"), alone=True)
case("bash.cd-outside", "cd out of the workspace", {}, bash("cd /usr; pwd"), bash("pwd"),
     alone=True, raw=("cwd-reset",))
case("bash.cd-deleted", "the directory is deleted (20)", {"d/f": ""},
     bash("cd $W/d"), bash("rm -rf $W/d; echo gone"), bash("echo ok"), bash("pwd"), alone=True,
     raw=("cwd-removed",))
case("bash.cd-subshell", "cd in a subshell does not stay", {"d/f": ""}, bash("(cd $W/d; pwd)"),
     bash("pwd"), alone=True)
case("bash.variables", "variables do not stay", {}, bash("X=1; export Y=2"),
     bash("echo ${X-none} ${Y-none}"))
case("bash.functions", "functions and aliases do not stay", {}, bash("f() { echo f; }; alias g=f"),
     bash("type f"))
case("bash.set-e", "set -e does not stay", {}, bash("set -e"), bash("false; echo on"))
case("bash.umask", "umask does not stay", {}, bash("umask 077"), bash("umask"))

# ---- the text of the command ----------------------------------------------------------------
case("bash.heredoc", "a here document", {},
     bash("cat <<'E'\n$x `y` \"z\" \\n\nE\ncat <<E\n$((1+1))\nE"))
case("bash.quotes", "quotes in quotes", {},
     bash("""echo "a'b" 'c"d' e\\ f $'g\\th' "$(echo "x y")" """))
case("bash.process-substitution", "process substitution", {}, bash("paste <(echo a) <(echo b)"))
case("bash.braces", "braces, arrays, arithmetic", {},
     bash("a=(1 2 3); echo {1..3} ${a[@]:1} $((2**10)) ${#a[@]}"))
case("bash.pipefail", "the status of a pipe", {},
     bash("false | true; echo $?; set -o pipefail; false | true"))
case("bash.lines", "several lines", {}, bash("echo a\necho b\n\necho c"))
case("bash.comment", "a comment at the end", {}, bash("echo a # b"))
case("bash.backslash", "a backslash at the end of a line", {}, bash("echo a \\\n  b"))
case("bash.history", "an exclamation mark", {}, bash('echo "hi!" !x'))
case("bash.unicode", "other scripts", {}, bash("echo 'naïve 你好 🙂'; printf '%s' é | wc -c"))
case("bash.globs", "a glob that matches nothing", {}, bash("cd $W; echo *.none"), alone=True)
case("bash.extglob", "extended globs are off in a script", {},
     bash("cd $W; ls !(b) 2>&1 | head -n 1; shopt extglob"), alone=True)
case("bash.ampersand", "& in the middle", {}, bash("echo a & wait; echo b"))
case("bash.long-command", "a command of 200,000 bytes", {},
     bash("x=" + "y" * 200000 + "; echo ${#x}"))

# ---- where it runs ------------------------------------------------------------------------
case("bash.stdin-read", "read has no input (36)", {}, bash("read x; echo \"[$x] $?\""), deadline=3)
case("bash.stdin-cat", "cat /dev/stdin (36)", {}, bash("cat /dev/stdin; echo $?"))
case("bash.stdin-prompt", "a prompt ends at once (36)", {}, bash("read -p 'sure? ' x || echo no"),
     deadline=3)
case("bash.tty", "no terminal", {}, bash("test -t 0 || test -t 1 || echo none"))
case("bash.secret", "the host's credentials in the environment", {},
     bash("printenv | grep -c canary-of-the-comparison"))
case("bash.term", "TERM and the pager", {}, bash("echo \"$TERM\""))
case("bash.umask-new", "the mode of a new file", {}, bash("cd $W; echo x > f; stat -c %a f"),
     alone=True)
case("bash.git", "git works in the directory", {"f": "x\n"},
     bash("cd $W && git init -q . && git add f && git -c user.email=a@b -c user.name=n commit -qm m "
          "&& git log --format=%s; git status --short"), alone=True)
case("bash.shm", "a temporary file", {}, bash("t=$(mktemp) && echo x > $t && cat $t && rm $t"))

# ---- arguments ------------------------------------------------------------------------------
case("bash.empty", "an empty command", {}, bash(""))
case("bash.description", "a description", {}, bash("echo hi", description="Say hi"))
case("bash.no-sandbox", "dangerouslyDisableSandbox", {},
     bash("echo hi", dangerouslyDisableSandbox=False))
case("bash.unknown", "an argument that there is not", {}, bash("echo hi", shell="zsh"))
case("bash.timeout-big", "a limit above the maximum", {}, bash("echo hi", timeout=700000))
case("bash.timeout-zero", "a limit of 0", {}, bash("echo hi", timeout=0))
case("bash.timeout-fraction", "a limit with a fraction", {}, bash("echo hi", timeout=1500.5))

# ---- in the background -------------------------------------------------------------------------
case("background.exit", "a background command exits with 7 (32)", {},
     bash("echo out; exit 7", run_in_background=True), output(until_end=True), alone=True)
case("background.ok", "a background command succeeds", {},
     bash("echo out", run_in_background=True), output(until_end=True), alone=True)
case("background.runs", "a background command that runs on", {},
     bash("sleep 3176", run_in_background=True), output(block=False), kill(), alone=True, raw=("output",))
case("background.killed", "a background command is killed by a signal (32)", {},
     bash("echo out; kill -9 $$", run_in_background=True), output(until_end=True), alone=True)
case("background.filter", "a filter", {},
     bash("echo one; echo two; echo three", run_in_background=True),
     output(until_end=True, filter="^t"), alone=True)
case("background.kill", "the stop runs the EXIT trap and ends the tree (17)", {},
     bash("trap 'echo bye > $W/f' EXIT; touch $W/ready; while :; do sleep 3175; done",
          run_in_background=True),
     bash("for i in $(seq 200); do [ -e $W/ready ] && break; sleep 0.01; done; echo ready"),
     kill(), Survivors("sleep 3175"),
     bash("for i in $(seq 100); do [ -e $W/f ] && break; sleep 0.02; done; cat $W/f"), alone=True)
case("background.unknown-output", "output of an id that there is not", {}, output(), alone=True)
case("background.unknown-kill", "the stop of an id that there is not", {}, kill(), alone=True)
case("background.cwd", "a background command starts in the shell's directory", {"d/f": ""},
     bash("cd $W/d"), bash("pwd", run_in_background=True), output(until_end=True), alone=True,
     raw=("background-words",))
