#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shell calls: what the model relies on."""
import os
import time

from box import ats, test


@test("hello comes unverified, ready verified")
def _(b):
    ats.equal(b.hello.json["confinement"]["verified"], False)
    ats.equal(b.confinement["verified"], True, b.confinement)
    ats.equal(b.confinement["level"], "namespaces")
    ats.check(b.confinement["tests"]["passed"] >= 15, b.confinement)


@test("output and exit codes come through")
def _(b):
    ats.equal(b.out("echo hi"), "hi")
    for code in (1, 2, 42, 125, 126, 127, 255):
        ats.equal(b.sh("exit %d" % code).exit, ("exit", code))
    ats.equal(b.sh("kill -TERM $$").exit, ("signal", 15))
    ats.equal(b.sh("kill -KILL $$").exit, ("signal", 9))


@test("stderr and stdout come in the order they were written")
def _(b):
    ats.equal(b.out("for i in 1 2 3; do echo o$i; echo e$i >&2; done"),
              "o1\ne1\no2\ne2\no3\ne3")


@test("stdin is empty and /dev/std* can be opened")
def _(b):
    ats.equal(b.out("cat; read x; echo [$x]"), "[]")
    ats.equal(b.out("echo a > /dev/stdout; echo b > /dev/stderr; echo c | cat /dev/stdin"),
              "a\nb\nc")
    ats.equal(b.out("cat <(echo p); echo q > >(cat); wait"), "p\nq")


@test("the working directory is followed, variables are not")
def _(b):
    r = b.sh("mkdir -p a/b; cd a/b; X=1")
    ats.equal(r.json["ctx_delta"]["cwd"], b.path("a/b"))
    ats.equal(b.out("pwd; echo [$X] $PWD [$OLDPWD]", cwd=b.path("a/b")),
              "%s\n[] %s []" % (b.path("a/b"), b.path("a/b")))
    r = b.sh("(cd /); pushd /tmp >/dev/null; exit 3")
    ats.equal(r.json["ctx_delta"]["cwd"], "/tmp")
    r = b.sh("cd /tmp; exec sh -c 'cd /; exit 0'")
    ats.equal(r.exit, ("exit", 0))


@test("a working directory that is gone falls back to the workspace")
def _(b):
    r = b.sh("pwd", cwd=b.path("gone"))
    ats.contains(r.text, b.ws)


@test("the environment is small and clean")
def _(b):
    names = sorted(x.split("=")[0] for x in b.out("env").splitlines() if "=" in x)
    ats.equal([n for n in names if n != "_"],
              ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR",
               "USER"])
    ats.equal(b.out("echo $HOME $USER $TERM; whoami; cd; pwd"),
              "/home/agent agent dumb\nagent\n/home/agent")
    ats.equal(b.out("echo $FOO [$TERM]", env=["FOO=a b", "TERM=vt100"]), "a b [vt100]")


@test("processes left over are named and ended")
def _(b):
    t = time.monotonic()
    r = b.sh("sleep 1000 & setsid sleep 1001 & nohup sleep 1002 >/dev/null 2>&1 & "
             "(sleep 1003 & ) ; echo done")
    ats.check(time.monotonic() - t < 5, "took too long")
    ats.contains(r.text, "done")
    ats.contains(r.text, "sleep")
    ats.equal(b.out("pgrep -c sleep || true"), "0")


@test("a background child that holds the pipe does not hold the call")
def _(b):
    t = time.monotonic()
    b.sh("sleep 20 & echo x")
    ats.check(time.monotonic() - t < 5, "took too long")


@test("children that end by themselves are waited for")
def _(b):
    r = b.out("(for i in 1 2 3 4 5 6 7 8 9 10; do :; done; echo late) & echo early")
    ats.equal(sorted(r.split()), ["early", "late"])


@test("a timeout ends the whole tree, what was printed is there")
def _(b):
    r = b.sh("trap '' TERM; echo before; setsid sleep 1000 & sleep 1000", timeout=300)
    ats.equal(r.exit[0], "timeout")
    ats.contains(r.text, "before")
    ats.equal(b.out("pgrep -c sleep || true"), "0")


@test("the shell cannot end its monitor or anybody else")
def _(b):
    r = b.sh("kill -9 $PPID; kill -9 1; kill -STOP $PPID; kill -TERM 1; echo alive")
    ats.contains(r.text, "alive")
    r = b.sh("sleep 100 & kill -9 -1; echo alive")
    ats.contains(r.text, "alive")
    ats.equal(b.out("echo next"), "next")


@test("a fork bomb is bounded and the next call works", options=("limits=check",))
def _(b):
    r = b.sh("f() { f | f & }; f 2>/dev/null; n=0; while :; do n=$((n+1)); "
             "[ $n -gt 20000 ] && break; done", timeout=5000, ms=10000)
    ats.check(r.exit[0] in ("exit", "timeout", "signal", "pids"), r.exit)
    ats.equal(b.out("echo next"), "next")


@test("double forks leave no zombie")
def _(b):
    b.out("for i in $(seq 300); do (true &) ; done")
    ats.equal(b.out("ps -eo stat= | grep -c Z || true"), "0")


@test("long commands, odd bytes and wide characters arrive as they are")
def _(b):
    long = "x" * 9000
    ats.equal(b.out("echo %s | wc -c" % long), "9001")
    ats.equal(b.out("printf '%s' 'ä€😀' | od -An -tx1 | tr -d ' \\n'"), "c3a4e282acf09f9880")
    ats.equal(b.out("cat <<'E'\n$a `b` \\c\nE"), "$a `b` \\c")
    ats.equal(b.out("echo $LINENO\necho $LINENO"), "1\n2")


@test("exec runs a program with its own streams")
def _(b):
    ats.equal(b.execute(["sh", "-c", "echo o; echo e >&2; exit 7"]),
              (("exit", 7), b"o\n", b"e\n"))
    ats.equal(b.execute(["cat"], stdin=b"in\0put"), (("exit", 0), b"in\0put", b""))
    code, out, err = b.execute(["/no/such/program"])
    ats.equal(code, ("exit", 127))
    ats.equal(b.execute(["no-such-program"])[0], ("exit", 127))
    ats.equal(b.execute(["/etc/passwd"])[0], ("exit", 126))


@test("exec has a terminal when it is asked for")
def _(b):
    code, out, _ = b.execute(["sh", "-c", "tty; stty size; exit 3"], tty=True, rows=11,
                             cols=77)
    ats.equal(code, ("exit", 3))
    ats.contains(out.decode(), "/dev/pts/")
    ats.contains(out.decode(), "11 77")


@test("a hundred calls at once")
def _(b):
    calls = [b.start("Bash", command="echo %d" % i) for i in range(100)]
    got = {}
    while len(got) < len(calls):
        f = b.link.expect("result")
        got[f.call] = f.payload.decode()
    ats.equal([got[c] for c in calls], [str(i) for i in range(100)])


@test("a workspace file keeps its owner on the host")
def _(b):
    b.out("echo x > new; mkdir d; chmod +x new")
    st, ws = os.stat(b.path("new")), os.stat(b.ws)
    ats.equal((st.st_uid, st.st_gid), (ws.st_uid, ws.st_gid))
    ats.equal(os.stat(b.path("d")).st_uid, ws.st_uid)


@test("tmp and home are shared by calls and private to the box")
def _(b):
    b.out("echo 1 > /tmp/ats-t-$$; echo 2 > ~/h; echo 3 > /dev/shm/s; echo $$ > n")
    ats.equal(b.out("cat /tmp/ats-t-* ~/h /dev/shm/s"), "1\n2\n3")
    with open(b.path("n"), encoding="ascii") as f:
        name = "/tmp/ats-t-" + f.read().strip()
    ats.check(not os.path.exists(name), "seen on the host")


ats.main()
