#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is configured and down is said by atsctl status and atsctl doctor, with what to do about it:
ats-http, a gateway, a hook, a sandbox that cannot be reached. And a hook's end is in the log."""
import json
import os
import shutil
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import http_client


def problems(home):
    """What is wrong by status, and by doctor: both say the same."""
    r = home.ctl("--json", "status")
    s = json.loads(r.stdout)
    ats.equal((r.returncode, s["health"]), (1, "degraded") if s["problems"] else (0, "healthy"))
    return {p["name"]: p for p in s["problems"]}


def by_doctor(home):
    d = json.loads(home.ctl("--json", "doctor", timeout=60).stdout)
    rows = {p["name"]: p for p in d["running"]}
    ats.equal(rows.pop("brain")["state"], "on")
    ats.check(not rows or d["result"] == "partial", d["result"])
    return rows


def for_people(home, name, *words):
    """The problem's lines of status and doctor: why, and what to do."""
    out = home.ctl("status", code=1).stdout.decode()
    ats.matches(out, r"(?m)^health +degraded$")
    ats.matches(out, r"(?m)^%s: .+\nremedy: .+" % name)
    doctor = home.ctl("doctor", code=1, timeout=60).stdout.decode()
    ats.matches(doctor, r"(?m)^%s +(down|failed|none|backoff) +.+\n +remedy: .+" % name)
    for w in words:
        ats.contains(out, w)
        ats.contains(doctor, w)


@ats.test("without a brain doctor says that none runs, and starts none; with one all is well")
def _(home):
    rows = json.loads(home.ctl("--json", "doctor", timeout=60).stdout)["running"]
    ats.equal([(r["name"], r["state"]) for r in rows], [("brain", "idle")])
    ats.equal(home.brain_pid(), None)
    home.start()
    ats.equal((problems(home), by_doctor(home)), ({}, {}))


@ats.test("ats-http that cannot have its port is down, until it has it")
def _(home):
    path, _ = http_client.write_token(home)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        home.configure({"http": {"listen": ["127.0.0.1:%d" % port], "token_file": path,
                                 "workspace": home.ws}})
        home.start()
        ats.until(lambda: "ats-http" in problems(home), "it is told")
        p = problems(home)["ats-http"]
        ats.equal((p["state"], by_doctor(home)["ats-http"]["state"]), ("down", "down"))
        ats.contains(p["why"], str(port))
        for_people(home, "ats-http", str(port), "atsctl config check", "brain.log")
    ats.until(lambda: not problems(home), "it listens", timeout=30)


@ats.test("a gateway whose program is not there is down, with its name and credential")
def _(home):
    home.configure({
        "credentials": {"key": {"command": ["/bin/echo", "k"]}},
        "gateways": {"gone": {"kind": "mcp", "argv": ["/no/such/server"], "credential": "key",
                              "credential_env": "KEY"},
                     "idle": {"kind": "command", "tools": {"x": {
                         "description": "x", "input": {"type": "object"}, "argv": ["/bin/true"]}}}}})
    r = home.ctl("config", "check")
    ats.equal(r.returncode, 0, r)
    home.start()
    home.ctl("gateway", "ls")
    ats.until(lambda: "gateway gone" in problems(home), "it is told")
    p = problems(home)
    ats.equal((list(p), p["gateway gone"]["state"]), (["gateway gone"], "down"))
    for_people(home, "gateway gone", "atsctl credential test key", "atsctl gateway ls")


@ats.test("a credential that cannot be read is said before a call needs it; no command is run for that")
def _(home):
    ran, bad = os.path.join(home.dir, "ran"), os.path.join(home.dir, "token")
    with open(bad, "w", encoding="ascii") as f:
        f.write("sesame-open")
    os.chmod(bad, 0o644)
    command = os.path.join(home.dir, "says")
    with open(command, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\ntouch %s\necho sesame-said\n" % ran)
    os.chmod(command, 0o755)
    home.configure({"credentials": {"open": {"file": bad}, "none": {"file": home.dir + "/no"},
                                    "unit": {"systemd": "nothing"},
                                    "lost": {"command": [home.dir + "/pass", "show"]},
                                    "fine": {"command": [command]}}})
    home.start()
    p = problems(home)
    ats.equal(set(p), {"credential " + x for x in ("open", "none", "unit", "lost")})
    ats.equal({x["state"] for x in p.values()}, {"failed"})
    ats.equal(by_doctor(home), p)
    ats.contains(p["credential open"]["why"], "chmod 600")
    ats.contains(p["credential none"]["why"], home.dir + "/no")
    ats.contains(p["credential lost"]["why"], home.dir + "/pass: No such file")
    for_people(home, "credential lost", "atsctl credential test lost")
    ats.check(not os.path.exists(ran), "it was run")
    ats.missing(home.ctl("--json", "status", code=1).stdout, b"sesame")
    os.chmod(bad, 0o600)
    home.ctl("credential", "test", "open", code=0)
    shutil.copy(command, home.dir + "/pass")
    ats.equal(set(problems(home)), {"credential none", "credential unit"})
    os.unlink(command)
    ats.check("credential fine" in problems(home))
    home.ctl("credential", "test", "lost", code=0)
    os.unlink(home.dir + "/pass")           # what was read is there
    ats.check("credential lost" not in problems(home))


def gateway(home, name):
    rows = json.loads(home.ctl("gateway", "ls", "--json", code=0).stdout)["gateways"]
    return next(g for g in rows if g["name"] == name)


@ats.test("a gateway that fell is down until its next call, which is no fault; again and again is one")
def _(home):
    home.configure({"gateways": {"g": {"kind": "command", "tools": {"x": {
        "description": "x", "input": {"type": "object"}, "argv": ["/bin/echo", "said"],
        "read_only": True}}}}})
    home.start()

    def fall():
        ats.contains(home.ctl("gateway", "call", "g__x", "{}", code=0).stdout.decode(), "said")
        g = gateway(home, "g")
        ats.equal((g["state"], g.get("error")), ("ready", None))
        ats.equal(problems(home), {})
        os.kill(g["pid"], signal.SIGKILL)
    for _ in range(2):
        fall()
        ats.until(lambda: gateway(home, "g")["state"] == "down", "it is down")
        g = gateway(home, "g")
        ats.equal((g.get("error"), g["last_exit"]), (None, "signal 9"))
        ats.equal((problems(home), by_doctor(home)), ({}, {}))
        ats.matches(home.ctl("status", code=0).stdout.decode(), r"(?m)^g +command +down .* signal 9$")
    # without a person: whoever looks at the list has it tried
    fall()
    p = ats.until(lambda: problems(home).get("gateway g"), "it is told")
    ats.matches(p["why"], r"^its process ended")
    ats.until(lambda: gateway(home, "g")["state"] == "ready", "atsctl gateway ls starts it")
    ats.equal(problems(home), {})


@ats.test("a hook that cannot run is named in status and in the log, with its end and what to do")
def _(home):
    script = os.path.join(home.home, "hook")
    os.makedirs(home.home, exist_ok=True)
    with open(script, "w", encoding="ascii") as f:
        f.write("#!/no/such/interpreter\n")

    def hooks(command):
        return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": command}]}]}}

    def logged():
        with open(home.log_path, encoding="utf-8", errors="replace") as f:
            return [line for line in f if 'msg="a hook failed"' in line]

    rows = [("exec 2>&-; exit 127", 127, "whole path", '""'),
            ("exec 2>&-; exit 126", 126, "chmod", '""'),
            (script, 126, "chmod", "hook: "),
            ("/no/such/program --x", 127, "whole path", "/no/such/program"),
            ("echo first >&2; echo second >&2; exit 9", 9, "ended with code 9", '"first"'),
            ("echo nonsense{{{ >&2; echo '{{{'", 0, "JSON", "nonsense")]
    for command, code, todo, stderr in rows:
        home.configure(hooks(command))
        before = len(logged()) if os.path.exists(home.log_path) else 0
        home.ctl("call", "Bash", '{"command":"true"}', code=0)
        p = problems(home)
        ats.equal(list(p), ["hook PreToolUse Bash"])
        ats.contains(p["hook PreToolUse Bash"]["why"], todo)
        new = logged()[before:]
        ats.equal(len(new), 1)
        ats.matches(new[0], r' event=PreToolUse hooks=host index=0 matcher="Bash" code=%d ' % code)
        ats.contains(new[0].split(" why=")[1].split(" stderr=")[0], todo)
        ats.contains(new[0].split(" stderr=")[1], stderr)
        home.ctl("shutdown", code=0)
    for_now = hooks("test -e %s && exit 7; exit 0" % (script + ".bad"))
    home.configure(for_now)
    home.ctl("call", "Bash", '{"command":"true"}', code=0)
    ats.equal(problems(home), {})
    with open(script + ".bad", "w", encoding="ascii"):
        pass
    home.ctl("call", "Bash", '{"command":"true"}', code=0)
    for_people(home, "hook PreToolUse Bash", "ended with code 7")
    os.unlink(script + ".bad")
    home.ctl("call", "Bash", '{"command":"true"}', code=0)
    ats.equal(problems(home), {})


@ats.test("a workspace's hook that cannot run is in the log, too")
def _(home):
    home.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "no-such-program"}]}]}}))
    home.start()
    home.ctl("call", "Bash", '{"command":"true"}', code=0)
    with open(home.log_path, encoding="utf-8", errors="replace") as f:
        lines = [x for x in f if 'msg="a hook failed"' in x and "hooks=workspace" in x]
    ats.check(lines and all("code=127" in x and "whole path" in x and "no-such-program" in x
                            for x in lines), lines)


@ats.test("a sandbox elsewhere that cannot be reached, by the process that dials or by a command")
def _(home):
    with socket.socket() as s:		# bound, and nobody listens
        s.bind(("127.0.0.1", 0))
        for url in ("tls://127.0.0.1:%d" % s.getsockname()[1], "exec:x",
                    "unix:" + os.path.join(home.dir, "none.sock")):
            home.configure({"sandbox": {"url": url}, "retry_limit": 0, "limits": {"start_ms": 2000},
                            "commands": {"x": ["/bin/false"]}})
            if url.startswith("tls"):
                home.ctl("sandbox", "enroll")
            r = home.ctl("exec", "--", "true")
            ats.equal(r.returncode, 125, r)
            (p,) = problems(home).values()
            ats.matches(p["name"], r"^b-[0-9a-f]+$")
            ats.check(p["why"] and p["name"] in p["remedy"], p)
            for_people(home, p["name"], "atsctl sandbox logs " + p["name"])
            home.ctl("shutdown", code=0)


if __name__ == "__main__":
    ats.main()
