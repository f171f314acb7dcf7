#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gateways of kind command: programs of the host, their limits, and how they end."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from gateway import Gateway

SECRET = "s3cr3t/token+with=signs"


def sh(script, **more):
    return {"description": "A test.", "input": {"type": "object"},
            "argv": ["/bin/sh", "-c", script], **more}


def sleeps(g):
    return [p for p in ats.descendants(g.proc.pid) if ats.comm(p) == "sleep"]


def of_mark(mark):
    """Processes that were given the word mark, wherever they are now."""
    return [p for p in ats.parents() if mark in ats.cmdline(p).split()]


def conf(**tools):
    return {"kind": "command", "tools": tools}


@ats.test("arguments come on stdin, stdout is the result, the environment is clean", home=False)
def _():
    c = conf(cat=sh("cat"), env=sh("env | sort"), pwd=sh("pwd; ls /proc/self/fd | wc -l"),
             nothing=sh("cat > /dev/null"))
    c["env"] = {"FOO": "bar", "LANG": "C"}
    with Gateway(c, env={"EVIL": "1", "LD_PRELOAD": ""}) as g:
        args = {"a": "\u00e9\n", "b": [1, {"c": None}]}
        ats.equal(json.loads(g.call("cat", args).text), args)
        big = {"a": "x" * 600000}
        r = g.call("cat", big)
        ats.contains(r.text, "[cut: the first 100000 of 600008 bytes are shown")
        ats.check(len(r.payload) < 100200, "%d bytes" % len(r.payload))
        names = [line.split("=")[0] for line in g.call("env").text.split()]
        ats.equal(sorted(set(names) - {"PWD", "SHLVL", "_", "OLDPWD"}),
                  ["FOO", "HOME", "LANG", "PATH", "USER"])
        ats.equal(g.call("pwd").text, "/\n4\n")
        ats.equal(g.call("nothing", big).text, "(no output)")


@ats.test("the credential comes by a variable or a descriptor, and is masked", home=False)
def _():
    c = conf(show=sh("echo \"got $TOKEN\"; echo \"$TOKEN\" >&2; printf %s \"$TOKEN\" | base64"))
    c.update(credential="x", credential_env="TOKEN")
    with Gateway(c, SECRET) as g:
        r = g.call("show")
        ats.equal(r.text, "got ***\n***\n")
        ats.missing(g.log_text(), SECRET)
    c = conf(show=sh("read x <&5; test \"$x\" = '%s' && echo right; echo $x" % SECRET))
    c.update(credential="x", credential_fd=5)
    with Gateway(c, SECRET) as g:
        ats.equal(g.call("show").text, "right\n***\n")


@ats.test("what is left of a long stderr holds no part of the credential", home=False)
def _():
    script = "for i in $(seq 500); do echo \"x$TOKEN\"; done >&2; echo 'the end' >&2; exit 1"
    c = conf(**{"n%d" % n: sh("printf %%0%dd 0 >&2; %s" % (n + 1, script))
                for n in range(0, 24, 5)})
    c.update(credential="x", credential_env="TOKEN")
    with Gateway(c, SECRET) as g:
        for n in range(0, 24, 5):
            g.call("n%d" % n)
        said = [x.split("stderr=")[1] for x in g.log_text().splitlines() if "stderr=" in x]
    ats.equal(len(said), 5)
    for text in said:
        ats.contains(text, "the end")
        for i in range(len(SECRET) - 5):
            ats.missing(text, SECRET[i:i + 6])


@ats.test("a failure says its exit code; stderr is in the log, masked", home=False)
def _():
    c = conf(fail=sh("echo partly; echo \"oops $TOKEN\" >&2; exit 3"), sig=sh("kill -9 $$"))
    c.update(credential="x", credential_env="TOKEN")
    with Gateway(c, SECRET) as g:
        r = g.call("fail")
        ats.check(r.is_error and r.code == "upstream_failed", r)
        ats.equal((r.json["exit_kind"], r.json["exit_code"]), ("exit", 3))
        ats.contains(r.text, "exit code 3")
        ats.contains(r.text, "partly")
        ats.missing(r.text, "oops")
        ats.contains(g.log_text(), "oops ***")
        r = g.call("sig")
        ats.equal((r.json["exit_kind"], r.json["exit_code"]), ("signal", 9))


@ats.test("deadline, cancelling and the end take the whole group away", home=False)
def _():
    c = conf(hang=sh("echo begun; sleep 1000 & sleep 1000"),
             orphan=sh("(sleep 1000; echo late) & echo now"))
    with Gateway(c) as g:
        r = g.call("hang", ms=300)
        ats.equal(r.code, "timeout")
        ats.contains(r.text, "300 ms")
        call = g.order("hang")
        ats.until(lambda: len(sleeps(g)) == 2, "two sleeps")
        g.cancel(call)
        ats.equal(g.result(call).code, "cancelled")
        ats.until(lambda: not sleeps(g), "the sleeps end")
        ats.equal(g.call("orphan").text, "now\n")
        ats.until(lambda: not sleeps(g), "the orphan ends")
        ats.until(lambda: all(map(ats.alive, ats.descendants(g.proc.pid))), "no zombie")
        g.order("hang")
        ats.until(lambda: sleeps(g), "a sleep")


# Leaves group, session and parent, and says when it has: its stdout is not that of the call.
DAEMON = ("setsid sh -c '(exec >/dev/null 2>&1 </dev/null; exec setsid sleep %s) & echo there'"
          " | head -n 1; ")


@ats.test("what left its group and session ends with its program, and no other does", home=False)
def _():
    # No two runs at once have the same number.
    marks = ["%d.%d" % (1000 + i, os.getpid()) for i in range(4)]
    c = conf(now=sh(DAEMON % marks[0] + "echo now"),
             hang=sh(DAEMON % marks[1] + "sleep 1000"),
             fails=sh(DAEMON % marks[2] + "kill -9 $$"),
             other=sh(DAEMON % marks[3] + "sleep 1000"))
    with Gateway(c) as g:
        g.order("other")
        ats.until(lambda: of_mark(marks[3]), "the other's daemon")
        ats.equal(g.call("now").text, "there\nnow\n")
        ats.equal(of_mark(marks[0]), [])
        ats.equal(g.call("fails").json["exit_code"], 9)
        ats.equal(of_mark(marks[2]), [])
        call = g.order("hang")
        ats.until(lambda: of_mark(marks[1]), "a daemon")
        g.cancel(call)
        ats.equal(g.result(call).code, "cancelled")
        ats.until(lambda: not of_mark(marks[1]), "the cancelled one's daemon ends")
        ats.check(of_mark(marks[3]), "the other's daemon was killed")
        ats.equal(g.call("now", ms=5000).text, "there\nnow\n")
        g.proc.kill()
        g.status = -9
        g.proc.wait()
        ats.until(lambda: not of_mark(marks[3]), "all end with their gateway, however that ends")


@ats.test("output without end neither blocks nor grows", home=False)
def _():
    c = conf(yes=sh("head -c 300000000 /dev/zero | tr '\\0' y"),
             bad=sh("printf 'a\\377b\\303'"))
    with Gateway(c) as g:
        r = g.call("yes")
        ats.contains(r.text, "of 300000000 bytes")
        with open("/proc/%d/status" % g.proc.pid, encoding="ascii") as f:
            peak = [int(x.split()[1]) for x in f if x.startswith("VmHWM")][0]
        ats.small(peak, 40000, "peak memory in KiB")
        ats.equal(g.call("bad").text, "a\ufffdb\ufffd")


@ats.test("orders that cannot be begun are answered as such", home=False)
def _():
    c = conf(gone={**sh(""), "argv": ["/nonexistent/program"]}, ok=sh("echo ok"))
    with Gateway(c) as g:
        r = g.call("none")
        ats.check(not r.started and r.code == "unknown_tool", r)
        r = g.call("gone")
        ats.check(not r.started and r.code == "not_found", r)
        ats.contains(r.text, "__gone was not started, its program cannot be run: /nonexistent/")
        for raw in ("[]", "{", "", '{"a":1,"a":2}'):
            ats.check(not g.call("ok", raw=raw).started, raw)
        ats.equal(g.call("ok").text, "ok\n")


@ats.test("results are kept for a new engine until it acknowledges them", home=False)
def _():
    with Gateway(conf(echo=sh("cat")), link=False) as g:
        calls = [g.order("echo", {"n": i}) for i in range(70)]
        g.wait(lambda: len(g.ended) == 70, "70 ends")
        g.new_link()
        seen = {g.link.expect("result").call for _ in range(64)}
        ats.equal(len(seen), 64)
        ats.check(seen < set(calls), seen)
        ats.contains(g.log_text(), "a result is forgotten")
        # Another frame than an acknowledgement ends that link alone.
        g.link.send("control.ping", 0, {"seq": 1})
        ats.equal(g.link.recv(), None)
        g.new_link()
        ats.equal({g.link.expect("result").call for _ in range(64)}, seen)
        for call in seen:
            g.link.send("control.ack", call)
        ats.contains(g.call("echo", {"n": "after"}).text, "after")


@ats.test("many calls run at a time, each with its own answer", home=False)
def _():
    with Gateway(conf(echo=sh("sleep 0.2; cat"))) as g:
        want = {g.order("echo", {"n": i}): i for i in range(40)}
        got = {}
        while len(got) < 40:
            f = g.link.expect("result")
            got[f.call] = json.loads(f.payload)["n"]
            g.link.send("control.ack", f.call)
        ats.equal(got, want)


@ats.test("QUIT and the end of the vault's socket end it, and a wrong message", home=False)
def _():
    for end in (lambda g: g.send("QUIT"), lambda g: g.sock.shutdown(2),
                lambda g: g.send("ARE_YOU_THERE", 1)):
        g = Gateway(conf(a=sh("sleep 100")))
        g.order("a")
        ats.until(lambda g=g: sleeps(g), "it runs")
        below = ats.descendants(g.proc.pid)
        end(g)
        ats.equal(g.proc.wait(ats.TIMEOUT), 0)
        ats.equal(ats.wait_gone(below, 10), [])
        g.close()


@ats.test("the gateway gains no rights and cannot be looked into", home=False)
def _():
    with Gateway(conf(status=sh("grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status; ulimit -c"))
                 ) as g:
        text = g.call("status").text
        ats.matches(text, r"CapEff:\s*0000000000000000")
        ats.matches(text, r"NoNewPrivs:\s*1")
        ats.check(text.endswith("\n0\n"), text)


ats.main()
