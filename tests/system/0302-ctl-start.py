#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl starts a brain: once, with a clean environment, and says why when it cannot. The
brain is a script beside a copy of atsctl. Also the commands that only ask and show."""
import json
import os
import select
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_door import Fail, FakeBrain

LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")


def install(home, brain=None, hands=None):
    """A directory with atsctl and a scripted ats-brain (and ats-hands); path of atsctl."""
    d = os.path.join(home.dir, "bin")
    os.makedirs(d, exist_ok=True)
    shutil.copy(ats.program("atsctl"), d)
    scripts = {"ats-brain": brain or "exec %s %s/fake_door.py \"$@\"" % (sys.executable,
                                                                         os.path.abspath(LIB)),
               "ats-hands": hands}
    for name, text in scripts.items():
        if text:
            with open(os.path.join(d, name), "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n%s\n" % text)
            os.chmod(os.path.join(d, name), 0o755)
    return os.path.join(d, "atsctl")


def ctl(home, program, *args, code=0, **kw):
    r = subprocess.run([program, *args], env={**home.env, **kw}, cwd=home.ws, timeout=ats.TIMEOUT,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ats.equal(r.returncode, code, "%r: %r %r" % (args, r.stdout, r.stderr))
    return r


def starts(home):
    with open(os.path.join(home.state, "ats", "starts"), encoding="utf-8") as f:
        return f.read().splitlines()


@ats.test("many at once start one brain, with an allow-listed environment")
def _(home):
    program = install(home)
    ps = [subprocess.Popen([program, "session", "new"], env={**home.env, "SECRET": "x"},
                           cwd=home.ws, stdout=subprocess.PIPE) for _ in range(16)]
    for p in ps:
        out, _ = p.communicate(timeout=ats.TIMEOUT)
        ats.equal((p.returncode, out), (0, b"s-0123456789ab\n"))
    ats.equal(len(starts(home)), 1)
    names = set(starts(home)[0].split()) - {"PWD", "LC_CTYPE", "OLDPWD", "SHLVL", "_"}
    ats.equal(names, {"HOME", "PATH", "USER", "LANG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
                      "XDG_STATE_HOME"})
    ctl(home, program, "shutdown")


@ats.test("after shutdown the next command starts another brain")
def _(home):
    program = install(home)
    for n in range(3):
        ctl(home, program, "session", "new")
        ats.equal(len(starts(home)), n + 1)
        ctl(home, program, "shutdown")
    ats.equal(ctl(home, program, "shutdown").stdout, b"no brain runs\n")


@ats.test("session open starts brain, too, and says where the door is")
def _(home):
    program = install(home)
    r = ctl(home, program, "--json", "session", "open", "work")
    ats.equal(sorted(json.loads(r.stdout)), ["door", "sandbox", "session"])
    ats.equal(json.loads(r.stdout)["door"], os.path.join(home.run, "ats", "brain.sock"))
    ats.equal(ctl(home, program, "session", "open", "work").stdout, b"s-0123456789ab\n")
    ats.equal(len(starts(home)), 1)
    ctl(home, program, "shutdown")


@ats.test("a brain killed by force is followed by another")
def _(home):
    program = install(home)
    ctl(home, program, "session", "new")
    pid = home.brain_pid()
    os.kill(pid, 9)
    ats.wait_gone([pid])
    ctl(home, program, "session", "new")
    ats.equal(len(starts(home)), 2)
    ctl(home, program, "shutdown")


@ats.test("a brain that fails to start: its reason, one line, where the log is")
def _(home):
    program = install(home)
    r = ctl(home, program, "exec", "true", code=125, LANG="broken")
    ats.equal(r.stderr.decode(), "atsctl: exec: brain did not start: this brain is broken; "
              "see %s\n" % home.log_path)
    program = install(home, brain="echo to the log >&2; exit 3")
    r = ctl(home, program, "exec", "true", code=125)
    ats.contains(r.stderr.decode(), "ended while it started")
    with open(home.log_path, encoding="utf-8") as f:
        ats.contains(f.read(), "to the log")


@ats.test("without ats-brain, with --no-start and with --socket nothing is started")
def _(home):
    program = install(home)
    r = ctl(home, program, "--no-start", "exec", "true", code=125)
    ats.contains(r.stderr.decode(), "no brain runs; leave out --no-start")
    r = ctl(home, program, "--socket", "x/brain.sock", "exec", "true", code=125)
    ats.contains(r.stderr.decode(), "no brain answers at ")
    for code, args in ((125, ("exec", "true")), (3, ("session", "ls"))):
        r = ctl(home, program, "--socket", "/nonexistent", *args, code=code)
        ats.contains(r.stderr.decode(), "no brain answers at /nonexistent")
    r = ctl(home, program, "status", code=3)
    ats.contains(r.stdout.decode(), "no brain runs")
    ats.equal(json.loads(ctl(home, program, "status", "--json", code=3).stdout),
              {"running": False})
    os.unlink(os.path.join(os.path.dirname(program), "ats-brain"))
    r = ctl(home, program, "exec", "true", code=125)
    ats.matches(r.stderr.decode(), r"\Aatsctl: exec: ats-brain is neither [^\n]+\n\Z")
    ats.check(not os.path.exists(os.path.join(home.state, "ats", "starts")))


@ats.test("a runtime directory that is open to others is refused")
def _(home):
    program = install(home)
    os.mkdir(os.path.join(home.run, "ats"), 0o755)
    os.chmod(os.path.join(home.run, "ats"), 0o755)
    r = ctl(home, program, "exec", "true", code=125)
    ats.contains(r.stderr.decode(), "chmod 700")


@ats.test("status: healthy and degraded, for people and as JSON")
def _(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    box = {"id": "b-0123456789ab", "state": "ready", "workspace": "/a\x1b[2Jb\u202e",
           "confinement": {"level": "namespaces", "layers": []}}
    b.on("ats/status")(lambda c, m, f: {"version": "0", "calls_in_flight": 0, "sandboxes": [box]})
    out = home.ctl("status", code=0).stdout.decode()
    ats.matches(out, r"health +healthy")
    ats.matches(out, r"\npid +1\n")
    ats.matches(out, r"ID +STATE +WORKSPACE +CONFINEMENT\nb-0123456789ab +ready +/a\?\[2Jb\? +"
                     r"namespaces\n")
    for where in ("ats", "ats/brain.sock"):
        home.ctl("--socket", os.path.join(home.run, where), "status", code=0)
    box["state"] = "none"
    home.ctl("status", code=0)
    box["last_error"] = "ended by request"
    home.ctl("status", code=0)
    box["last_error"] = "no \x1b room"
    ats.contains(home.ctl("status", code=1).stdout.decode(), "\nb-0123456789ab: no ? room\n")
    box["state"] = "backoff"
    r = home.ctl("status", code=1)
    ats.contains(r.stdout.decode(), "\nb-0123456789ab: no ? room\nremedy: brain tries again")
    got = json.loads(home.ctl("status", "--json", code=1).stdout)
    ats.equal((got["running"], got["health"], got["vault"]), (True, "degraded", {"pid": 1}))
    ats.equal(got["engine"]["sandboxes"][0]["workspace"], box["workspace"])


SID = "s-00112233aabb"


@ats.test("inspect, session, sandbox: methods, parameters, exit codes")
def _(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)

    def unknown(c, m, f):
        raise Fail("unknown id", "unknown_id")
    b.on("ats/inspect")(unknown)
    for name in ("ats/session.list", "ats/session.show", "ats/sandbox.list",
                 "ats/sandbox.restart", "ats/sandbox.kill"):
        b.on(name)(lambda c, m, f: {"is": m["method"], **m["params"]})
    b.on("ats/sandbox.logs")(lambda c, m, f: {"text": "one\n\x1b]0;two\n"})
    r = home.ctl("inspect", "c-99", code=1)
    ats.equal(r.stderr, b"atsctl: inspect: c-99: unknown id; atsctl status shows the ids\n")
    for args, want in (
            (["session", "ls"], {"is": "ats/session.list"}),
            (["session", "show", SID], {"is": "ats/session.show", "id": SID}),
            (["sandbox", "ls"], {"is": "ats/sandbox.list"}),
            (["sandbox", "restart", "b-1"], {"is": "ats/sandbox.restart", "id": "b-1"}),
            (["sandbox", "kill", "b-1"], {"is": "ats/sandbox.kill", "id": "b-1"})):
        ats.equal(json.loads(home.ctl("--json", *args, code=0).stdout), want)
    ats.equal(home.ctl("sandbox", "logs", "b-1", code=0).stdout, b"one\n?]0;two\n")
    home.ctl("session", "close", SID, code=0)
    for args in (["session"], ["session", "ls", "x"], ["session", "show"], ["sandbox", "kill"],
                 ["sandbox", "ls", "x"], ["sandbox", "fly"], ["inspect"], ["nonsense"], []):
        ats.equal(home.ctl(*args, code=2).stderr.count(b"\n"), 1)
    b.answer_vault = lambda name, values: ("FAILED", 201, "unknown id")
    home.ctl("session", "close", SID, code=1)


@ats.test("events are printed as they come; --follow survives brain")
def _(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)

    @b.on("ats/events.subscribe")
    def _(conn, m, f):
        conn.answer(m, {})
        for text in ("a", "b\nc"):
            conn.send({"jsonrpc": "2.0", "method": "ats/event", "params": {
                "ts": 1700000000123, "kind": "call.end", "session": "s-1", "text": text}})
    b.stop()
    p = home.popen(ats.program("atsctl"), "events", "--follow", stdout=subprocess.PIPE)
    time = r"^\d\d:\d\d:\d\d\.\d\d\d "
    ats.matches(p.stdout.readline().decode(), time + r"brain\.lost no brain runs; waiting for the next\n")
    for n in range(3):
        b.start()
        what = "a brain runs" if n == 0 else "brain"
        ats.matches(p.stdout.readline().decode(), time + r"brain\.found %s \(pid %d\)" % (what, os.getpid()))
        ats.matches(p.stdout.readline().decode(), r"^\d\d:\d\d:\d\d\.123 call\.end s-1 a\n")
        ats.matches(p.stdout.readline().decode(), r" s-1 b\?c\n")
        b.stop()
        ats.matches(p.stdout.readline().decode(),
                    time + r"brain\.lost brain, or its engine, ended; waiting for the next\n")
    p.stdout.close()        # without a reader it does not wait for ever
    ats.equal(p.wait(ats.TIMEOUT), 0)
    b.start()
    p = home.popen(ats.program("atsctl"), "events", "--json", stdout=subprocess.PIPE)
    ats.equal(json.loads(p.stdout.readline())["text"], "a")
    b.stop()
    last = json.loads(p.stdout.read().splitlines()[-1])
    ats.equal((last["kind"], last["text"]), ("brain.lost", "brain, or its engine, ended"))
    ats.equal(p.wait(ats.TIMEOUT), 0)


@ats.test("events --follow asks the next brain for what came since the last event")
def _(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    asked = []

    @b.on("ats/events.subscribe")
    def _(conn, m, f):
        asked.append(m.get("params"))
        conn.answer(m, {})
        for seq in (41, 42, "43", -1, 7):
            conn.send({"jsonrpc": "2.0", "method": "ats/event", "params": {
                "seq": seq, "ts": 1, "kind": "call.end"}})

    p = home.popen(ats.program("atsctl"), "events", "--follow", "--json", "--after", "9",
                   stdout=subprocess.PIPE)
    for _ in range(2):
        while json.loads(p.stdout.readline()).get("seq") != 7:
            pass
        b.stop()
        b.start()
    while json.loads(p.stdout.readline()).get("seq") != 7:
        pass
    p.terminate()
    p.wait(ats.TIMEOUT)
    p.stdout.close()
    ats.equal(asked, [{"after": 9}, {"after": 42}, {"after": 42}])
    for bad in ("", "0", "-1", "1x", "x", "99999999999999999999"):
        ats.contains(home.ctl("events", "--after", bad, code=2).stderr.decode(), "seq")


@ats.test("events of one session by its name, from an earlier event on")
def _(home):
    home.start()
    home.write("f.txt", "x\n")
    for name in ("mine", "other"):
        home.ctl("call", "--session", name, "Read", '{"file_path":"f.txt"}', code=0)
    p = home.popen(ats.program("atsctl"), "events", "--json", "--session", "mine", "--after", "1",
                   cwd=home.ws, stdout=subprocess.PIPE)
    seen = []
    while not seen or seen[-1]["kind"] != "call.end":
        seen.append(json.loads(p.stdout.readline()))
    ats.equal(seen[0]["kind"], "lost")
    ats.contains(seen[0]["text"], "the engine before this one")
    ats.equal([x["kind"] for x in seen if "session" in x],
              ["session.open", "call.begin", "call.end"])
    ats.equal(len({x["session"] for x in seen if "session" in x}), 1)
    home.ctl("shutdown", code=0)
    ats.equal(p.wait(ats.TIMEOUT), 0)


@ats.test("events --follow says that a real brain ends, and follows the next one")
def _(home):
    first = home.start()
    p = home.popen(ats.program("atsctl"), "events", "--follow", "--json", stdout=subprocess.PIPE)

    def until(kind):
        while True:
            line = p.stdout.readline()
            ats.check(line, "the stream ended before " + kind)
            event = json.loads(line)
            if event["kind"] == kind:
                return event
    # It is subscribed when it shows something; until then there is always more to show.
    while not select.select([p.stdout], [], [], 0.1)[0]:
        home.ctl("exec", "--", "true", code=0)
    for end in ("shutdown", "kill"):
        if end == "kill":
            os.kill(home.brain_pid(), 9)
        else:
            home.ctl("shutdown", code=0)
        ats.contains(until("brain.lost")["text"], "ended; waiting for the next")
        pid = home.start()
        ats.check(pid != first)
        ats.contains(until("brain.found")["text"], "a brain runs (pid %d)" % pid)
        home.ctl("exec", "--", "true", code=0)
        until("call.end")
    pid = home.brain_pid()
    os.kill(home.pids("ats-engine")[0], 9)
    until("brain.lost")
    ats.contains(until("brain.found")["text"], "brain (pid %d) has a new engine" % pid)


PROBE = {"layers": [{"name": "landlock", "state": "on", "why": "ABI 4", "remedy": ""},
                    {"name": "cgroup", "state": "off", "why": "not delegated",
                     "remedy": "run as a systemd unit"}], "level": "namespaces"}


@ats.test("doctor shows the layers of the probe and the dependencies")
def _(home):
    program = install(home, hands="printf '%%s' '%s'; exit 1" % json.dumps(PROBE))
    r = ctl(home, program, "doctor", code=1)
    ats.matches(r.stdout.decode(), r"cgroup +off +not delegated\n {12,}remedy: run as a systemd unit\n")
    got = json.loads(ctl(home, program, "doctor", "--json", code=1).stdout)
    ats.equal(got["layers"], PROBE["layers"])
    ats.equal((got["level"], got["result"]), ("namespaces", "partial"))
    states = {d["name"]: d["state"] for d in got["dependencies"]}
    ats.equal((states["ats-brain"], states["ats-engine"], states["bash"]), ("on", "off", "on"))
    for bad in ("echo no json", "kill -9 $$", "exit 0"):
        program = install(home, hands=bad)
        r = ctl(home, program, "doctor", code=1)
        ats.contains(r.stdout.decode(), "gave no answer")


@ats.test("config check gives ats-brain's opinion in one line")
def _(home):
    program = install(home, brain='case "$*" in "-n --config /"*/good) exit 0;; esac; '
                      'echo \'level=error proc=brain msg="f: \\"x\\" is unknown"\' >&2; exit 1')
    good = os.path.join(home.ws, "good")
    r = ctl(home, program, "config", "check", "good")
    ats.equal(r.stdout.decode(), "configuration OK: %s\n" % good)
    ats.equal(json.loads(ctl(home, program, "config", "check", "good", "--json").stdout),
              {"ok": True, "file": good, "exists": True})
    r = ctl(home, program, "config", "check", "bad", code=2)
    ats.equal(r.stderr, b'atsctl: config: f: "x" is unknown\n')
    ctl(home, program, "config", "frobnicate", code=2)


@ats.test("config check and doctor name the file, say that there is none, or what is wrong")
def _(home):
    path = os.path.join(home.config, "ats", "brain.json")

    def both():
        d = json.loads(home.ctl("doctor", "--json").stdout)["dependencies"]
        row = [x for x in d if x["name"] == "configuration"][0]
        r = home.ctl("config", "check")
        return r.returncode, (r.stdout or r.stderr).decode(), row["state"], row["why"]
    ats.equal(both(), (0, "no configuration at %s: defaults\n" % path, "on",
                       path + " is not there: defaults"))
    ats.equal(json.loads(home.ctl("config", "check", "--json", code=0).stdout),
              {"ok": True, "file": path, "exists": False})
    home.configure({"idle_exit_s": 60})
    ats.equal(both(), (0, "configuration OK: %s\n" % path, "on", path + ": OK"))
    home.configure('{"nope": 1}')
    code, text, state, why = both()
    ats.equal((code, state), (2, "off"))
    for said in (text, why):
        ats.contains(said, path)
        ats.contains(said, "nope")
    ats.contains(home.ctl("doctor", code=1).stdout.decode(), "atsctl config check")
    os.unlink(path)
    os.mkdir(path)
    code, text, state, why = both()
    ats.equal((code, state), (2, "off"))
    home.ctl("config", "check", "none", code=2)


@ats.test("help and completion name every command; the bash script completes")
def _(home):
    text = home.ctl("--help", code=0).stdout.decode()
    names = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    ats.contains(names, "mcp")
    for n in names:
        said = home.ctl(n, "--help", code=0).stdout
        ats.contains(said.decode(), "usage: atsctl")
        ats.equal(home.ctl("help", n, code=0).stdout, said)
    ats.equal(home.ctl("help", code=0).stdout.decode(), text)
    for shell in ("bash", "zsh", "fish"):
        script = home.ctl("completion", shell, code=0).stdout.decode()
        for n in names:
            ats.contains(script, n)

    def complete(*words):
        script = home.ctl("completion", "bash").stdout.decode()
        script += "COMP_WORDS=(%s) COMP_CWORD=%d; _atsctl; echo \"${COMPREPLY[*]}\"" % (
            " ".join("'%s'" % w for w in words), len(words) - 1)
        return subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE,
                              check=True).stdout.decode().split()
    ats.equal(complete("atsctl", "se"), ["session"])
    ats.equal(complete("atsctl", "--json", "exec", "--t"), ["--timeout", "--tty"])
    ats.equal(complete("atsctl", "session", ""), ["new", "open", "ls", "show", "close"])
    ats.equal(complete("atsctl", "session", "-"), ["--json", "--help", "--workspace"])
    ats.equal(complete("atsctl", "config", "check", ""), [])    # then files
    ats.contains(complete("atsctl", "exec", "--", "ca"), "cat")
    ats.equal(complete("atsctl", "exec", "--", "ls", "--t"), [])
    ats.equal(complete("atsctl", "completion", "f"), ["fish"])
    ats.equal(complete("atsctl", "call", "Mu"), ["MultiEdit"])
    ats.equal(complete("atsctl", "call", "B"), ["Bash", "BashOutput"])
    ats.equal(complete("atsctl", "call", "Read", ""), [])
    ats.contains(home.ctl("completion", "fish").stdout.decode(), "from call' -a Glob\n")
    if shutil.which("fish"):
        script = home.ctl("completion", "fish").stdout.decode()
        r = subprocess.run(["fish", "-c", script + "\ncomplete -C 'atsctl session '"],
                           stdout=subprocess.PIPE, env=home.env, check=True)
        ats.equal({x.split("\t")[0] for x in r.stdout.decode().splitlines()},
                  {"new", "open", "ls", "show", "close"})
    if shutil.which("zsh"):
        script = home.ctl("completion", "zsh").stdout.decode()
        r = subprocess.run(["zsh", "-f", "-c", "autoload -U compinit && compinit -D\n" + script +
                            "\nprint -- ${_comps[atsctl]}"], stdout=subprocess.PIPE, check=True,
                           env=home.env)
        ats.contains(r.stdout.decode(), "_atsctl")
    ats.equal(home.ctl("version", "--json", code=0).stdout[:12], b'{"version":"')


@ats.test("a full disk and a closed stdout are told apart")
def _(home):
    with open("/dev/full", "wb") as full:
        p = home.popen(ats.program("atsctl"), "--help", stdout=full, stderr=subprocess.PIPE)
        ats.matches(p.communicate()[1].decode(), r"\Aatsctl: stdout: [^\n]+\n\Z")
        ats.equal(p.returncode, 1)
    r, w = os.pipe()
    os.close(r)
    p = home.popen(ats.program("atsctl"), "version", stdout=w, stderr=subprocess.PIPE)
    os.close(w)
    ats.equal((p.communicate()[1], p.returncode), (b"", 141))


ats.main()
