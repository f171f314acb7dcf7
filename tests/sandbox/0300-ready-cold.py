#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A waiting bash does what a cold `bash -c` does: stdout and exit of 200 commands.

Allowed to differ: the prefix of a syntax error (stderr), the last command is not exec'd
(SHLVL of a single command, a signal's number), /proc/$$/cmdline. PIPESTATUS is set."""
import itertools
import os

from box import Box, USERS, ats

COMMANDS = r"""
true
false
:
exit 7
exit 300
(exit 5)
echo hi
echo -n hi
printf '%s\n' a b c
echo $0
echo $1 $# "$@"
echo $-
echo $$ | grep -c .
echo $PPID
echo $BASHPID | grep -c .
echo $BASH_SUBSHELL
echo $LINENO
echo "$BASH"
echo $_
echo $SHLVL; :
echo $SECONDS
echo $PWD
echo [$OLDPWD]
echo $IFS | od -c
echo $HOME $USER $PATH
echo $UID $EUID
echo ${BASH_VERSION%%.*}
echo $HOSTNAME
echo $OSTYPE
echo $OPTIND $OPTERR
echo ${#BASH_SOURCE[@]} ${#FUNCNAME[@]} ${#BASH_ARGV[@]}
echo ${BASH_LINENO[@]}
set -e; false; echo no
set -e; if false; then :; fi; echo yes
set -e; false || true; echo yes
set -u; echo $nope; echo no
set -o pipefail; false | true
set -x 2>/dev/null; echo a
set -n; echo a
set -- a b; echo $2 $#
set -o noclobber; echo a > x1; echo b > x1
shopt -o
shopt
set -o
compgen -v | grep -v -e ^BASH -e ^_$ -e PIPESTATUS | sort
compgen -A function
alias
trap
trap 'echo bye' EXIT; echo a
trap 'echo bye' EXIT; exit 3
trap 'echo err' ERR; false; echo after
trap 'echo dbg' DEBUG; echo a
trap 'echo t; exit 9' TERM; kill -TERM $$
trap '' INT; kill -INT $$; echo alive
kill -TERM $$
kill -KILL $$
kill -SEGV $$
kill -PIPE $$
f() { echo $1; return 4; }; f x
f() { local a=1; echo $FUNCNAME $a; }; f; echo [$a]
f() { caller; }; f
return 3
break
continue
shift; echo $?
exec true
exec false
exec echo hi
exec sh -c 'exit 6'
exec 5>&1; echo a >&5
exec > out; echo a; cat out
exec < /dev/null; cat; echo $?
exec nope
nope
/nope
./nope
/etc
/etc/passwd
command -v ls
type cd
hash
cd /; pwd
cd /tmp && pwd
cd /nope; echo $?
cd; pwd
cd -; echo $?
cd ..; pwd | grep -c .
pushd /tmp; popd
dirs
umask
ulimit -c
ulimit -n
times | wc -l
jobs
sleep 0.01 & wait; echo $?
sleep 0 & echo $!x | grep -c x
(sleep 0; exit 3) & wait $!; echo $?
wait; echo $?
read x; echo $? [$x]
read x <<< abc; echo $x
mapfile -t a < <(printf '1\n2\n'); echo ${a[1]}
cat <<E\na$HOME\nE
cat <<'E'\na$HOME `x`\nE
cat <<-E\n\ta\n\tE
cat <<A; cat <<B\n1\nA\n2\nB
a=(1 2 3); echo ${a[@]:1}
declare -A m=([x]=1 [y]=2); echo ${m[y]} ${#m[@]}
declare -i n=2+3; echo $n
declare -r R=1; R=2; echo no
readonly Q=1; Q=2; echo $?
export E1=a; env | grep ^E1
E2=b env | grep ^E2
env | sort | grep -v -e ^_= -e ^SHLVL=
unset HOME; echo [$HOME]
x=5; echo $((x*2)) $((16#ff)) $((1/0))
echo $((2**10))
let y=4+1; echo $y
((0)); echo $?
[[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}
[[ -f /etc/passwd ]]; echo $?
[ 1 = 2 ]
test -d /tmp; echo $?
case abc in a*) echo y;; esac
for i in 1 2 3; do echo $i; done
for ((i=0;i<3;i++)); do echo $i; done
while read l; do echo "<$l>"; done < /etc/hostname | wc -l
until true; do :; done; echo $?
select x in a b; do break; done < /dev/null; echo $?
if true; then echo a; else echo b; fi
{ echo a; echo b; } | tail -1
( echo a; exit 2 ); echo $?
! true; echo $?
true && echo a || echo b
echo a; echo b; false
echo a & wait
echo {1..5} {a,b}{1,2}
echo ~ ~root ~nope
echo *.nope
touch g1 g2; echo g*
shopt -s nullglob; echo *.nope x
shopt -s extglob\necho !(nope) | grep -c .
shopt -s expand_aliases\nalias q='echo al'\nq
alias q=echo; q 1; echo $?
x='a b'; echo $x "$x" '$x'
x=abc; echo ${x^} ${x:1} ${x/b/B} ${x%c} ${x#a} ${#x} ${x:-y} ${nope:-y}
echo ${nope:?gone}; echo no
echo $'a\tb\x41'
echo "a\"b" 'c'\''d'
echo "$(echo a; echo b)"
echo `echo x \`echo y\``
echo $(< /etc/hostname) | wc -l
echo <(true) | grep -c /dev/fd
cat <(echo a) <(echo b)
echo a | tee >(cat) > /dev/null; sleep 0.05
echo e >&2; echo o
echo a 2>&1 >/dev/null
ls /nope 2>&1 | grep -c nope
printf '%d\n' 0x10
printf 'a\0b' | wc -c
printf -v v %s q; echo $v
getopts ab: o -a; echo $o
eval 'echo $((1+1))'; eval exit 4
source /dev/stdin <<< 'echo s'
. /nope; echo no
source /dev/stdin <<< 'return 3'; echo $?
bash -c 'exit 8'
bash -c 'echo $0 $1' x y
sh -c 'kill -9 $$'; echo $?
sh -c 'exit 130'
timeout 5 true; echo $?
yes | head -2
seq 5 | paste -sd+
echo abc | sed s/b/X/ | tr a-z A-Z
find . -maxdepth 0
awk 'BEGIN{print 1+1; exit 3}'
grep -q root /etc/passwd && echo found
grep nope /etc/passwd
test -t 0; echo $?
test -t 1; echo $?
[ -p /dev/stdout ]; echo $?
tty
stty 2>/dev/null; echo $?
history | wc -l
fc -l; echo $?
bind 2>/dev/null; echo $?
enable -n echo; echo a
builtin echo b; command echo c
disown; echo $?
suspend; echo $?
logout; echo $?
coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x
# just a comment
echo a # comment
echo a \\n b
echo a;; echo b
echo 'unclosed
if true; then
)
echo a &&
;
&
done
echo ok\n)\necho no
f() {
function g { echo g; }; g
time -p true 2>/dev/null; echo $?
echo ä€😀 | wc -c
x=ä€😀; echo ${#x}
echo $RANDOM | grep -c .
printf '%s' "$BASH_COMMAND"
echo ${BASH_VERSINFO[0]} ${DIRSTACK[0]}
declare -p OLDPWD PWD SHLVL 2>&1 | grep -v SHLVL
declare -x | grep -v -e SHLVL -e ' _='
declare -f
export -p | wc -l
ls -l /proc/self/fd | awk '{print $9}' | grep -v '^$' | sort -n | tr '\n' ' '
echo "${@:-none}" $*
GLOBIGNORE=x; echo $GLOBIGNORE
LC_ALL=C; printf '%s\n' b A a | sort | tr '\n' ' '
kill -l 9; kill -0 $$; echo $?
ulimit -f 1; head -c 100000 /dev/zero > big; echo $?
""".strip("\n").split("\n")


def compare(b):
    bad = []
    for c in COMMANDS:
        c = c.replace("\\n", "\n") if "printf" not in c and "tr " not in c else c
        b.calls += 1
        b.link.send("call.tool", b.calls, {
            "name": "Bash", "input": {"command": c}, "ctx": {"cwd": b.ws}, "split": True,
            "deadline_ms": 20000, "session": "s-000000000001"})
        r = b.link.expect("result", call=b.calls).json
        ready = ((r.get("exit_kind"), r.get("exit_code")), r["output"].get("stdout", ""))
        exit_, out, _ = b.execute(["bash", "-c", c])
        cold = (exit_, out.decode("utf-8", "replace"))
        if ready != cold:
            bad.append("%r\n  ready %r\n  cold  %r" % (c, ready, cold))
    return bad


@ats.test("stdout and exit of %d commands" % len(COMMANDS), home=False)
def _():
    with Box(USERS[-1]) as b:
        bad = compare(b)
        ats.check(not bad, "\n".join(bad))


BROKEN = ("if then", "echo a; )", "(\necho a", "echo 'a\n", "cat <<E\na", "echo a\nfi", "${_-x} (")


@ats.test("a syntax error shows the command, and nothing of what runs it", home=False)
def _():
    with Box(USERS[-1]) as b:
        for c in BROKEN:
            b.calls += 1
            b.link.send("call.tool", b.calls, {
                "name": "Bash", "input": {"command": c}, "ctx": {"cwd": b.ws}, "split": True,
                "deadline_ms": 20000, "session": "s-000000000001"})
            ready = b.link.expect("result", call=b.calls).json["output"].get("stderr", "")
            cold = b.execute(["bash", "-c", c])[2].decode()
            ats.equal(ready.replace("bash: eval: ", "bash: -c: "), cold, c)


# A PATH that is longer than ours, a value with what bash quotes, and one that a call replaces.
GIVEN = ["env=PATH=/opt/none/bin:/usr/bin:/bin", "env=GIVEN=a 'b' \"$c\" \\ ä", "env=LATER=first"]
STATE = ("pwd; echo ${OLDPWD-unset} >&2; cd /; echo $OLDPWD", "export -p | sort",
         "declare -p PWD OLDPWD GIVEN LATER PATH", "env | sort | grep -v -e ^_= -e ^SHLVL=",
         "echo a >&2; echo b; echo c >&2; exit 3", "ls -l /proc/self/fd | wc -l", "type -a ls")


@ats.test("elsewhere than it waits, merged or not, with and without what the sandbox and the call "
          "give", home=False)
def _():
    with Box(USERS[-1], options=GIVEN) as b:
        sub = os.path.join(b.ws, "a b")
        os.mkdir(sub)
        if b.uid is not None:
            os.chown(sub, b.uid, b.uid)
        for cwd, env, split, c in itertools.product(
                (b.ws, sub), ([], ["LATER=second", "OWN=x y"]), (True, False), STATE):
            b.calls += 1
            ctx = {"cwd": cwd, "env": env}
            b.link.send("call.tool", b.calls, {
                "name": "Bash", "input": {"command": c}, "ctx": ctx,
                "split": split, "deadline_ms": 20000, "session": "s-000000000001"})
            r = b.link.expect("result", call=b.calls)
            out = r.json["output"]
            argv = ["bash", "-c", c if split else "exec 2>&1; " + c]
            exit_, *cold = b.execute(argv, ctx=ctx)
            cold = [x.decode() for x in cold]
            ats.equal((r.json["exit_kind"], r.json["exit_code"]), exit_, c)
            if split:
                ats.equal([out["stdout"], out["stderr"]], cold, c)
            else:
                ats.contains(r.payload.decode(), cold[0].rstrip("\n"), c)


ats.main()
