#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl --json: an error of any command is one line of JSON on stderr, and nothing on stdout.
And what a weak configuration looks like in status, doctor and config check."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_door import Fail, FakeBrain

# Arguments, exit code, code of the error.
WITHOUT_BRAIN = (
    (["inspect", "x"], 3, "not_running"), (["session", "ls"], 3, "not_running"),
    (["session", "close", "x"], 3, "not_running"), (["sandbox", "ls"], 3, "not_running"),
    (["approvals"], 3, "not_running"), (["deny", "a-000000000000"], 3, "not_running"),
    (["deny", "x"], 1, "unknown_id"), (["deny"], 2, "usage"), (["approve"], 2, "usage"),
    (["gateway", "ls"], 3, "not_running"), (["gateway", "fly"], 2, "usage"),
    (["--no-start", "gateway", "call", "a__b", "{}"], 125, "not_found"),
    (["credential", "ls"], 3, "not_running"), (["credential", "fly"], 2, "usage"),
    (["audit"], 1, "not_found"), (["audit", "--since", "x"], 2, "usage"), (["relay"], 125, "usage"),
    (["--no-start", "relay", "/nonexistent"], 125, "not_found"),
    (["events"], 3, "not_running"), (["--no-start", "exec", "true"], 125, "not_found"),
    (["--no-start", "call", "Read", "{}"], 125, "not_found"),
    (["--no-start", "session", "new"], 1, "not_found"),
    (["nonsense"], 2, "usage"), ([], 2, "usage"), (["--bogus"], 2, "usage"),
    (["status", "--bogus"], 2, "usage"), (["status", "x"], 2, "usage"),
    (["sandbox", "fly"], 2, "usage"), (["sandbox", "kill"], 2, "usage"),
    (["session", "fly"], 2, "usage"), (["inspect"], 2, "usage"), (["exec"], 125, "usage"),
    (["exec", "--timeout", "x", "true"], 125, "usage"), (["call", "Read"], 125, "usage"),
    (["mcp", "x"], 125, "usage"), (["completion", "tcsh"], 2, "usage"),
    (["config", "fly"], 2, "usage"), (["config", "check", "/nonexistent"], 2, "bad_config"),
    (["version", "x"], 2, "usage"), (["doctor", "x"], 2, "usage"), (["shutdown", "x"], 2, "usage"))


def error(home, args, exit_code, code):
    r = home.ctl(*args, code=exit_code)
    ats.equal(r.stdout, b"", args)
    lines = r.stderr.splitlines()
    ats.equal(len(lines), 1, "%r: %r" % (args, r.stderr))
    e = json.loads(lines[0])["error"]
    ats.equal((e["code"], e["exit"]), (code, exit_code), args)
    ats.check(e["message"], args)
    return e["message"]


@ats.test("errors without a brain, --json before and behind the command")
def _(home):
    for args, exit_code, code in WITHOUT_BRAIN:
        error(home, ["--json", *args], exit_code, code)
        if args and args[0] not in ("exec",) and args[0][0] != "-":
            error(home, [*args, "--json"], exit_code, code)


@ats.test("errors that a brain tells keep their code")
def _(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)

    def fails(c, m, f):
        raise Fail("no \"such\" thing\x1b", "unknown_id")
    for name in ("ats/inspect", "ats/sandbox.kill"):
        b.on(name)(fails)
    ats.contains(error(home, ["--json", "inspect", "c-1"], 1, "unknown_id"), "c-1: unknown id")
    error(home, ["--json", "sandbox", "kill", "b-1"], 1, "unknown_id")
    # A word of the command line that is no option of ours.
    r = home.ctl("inspect", "c-1", code=1)
    ats.equal(r.stderr[:8], b"atsctl: ")


@ats.test("a weak configuration is seen in status, in doctor and when it is checked")
def _(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    box = {"id": "b-0123456789ab", "state": "ready", "workspace": "/a"}
    b.on("ats/status")(lambda c, m, f: {"version": "0", "calls_in_flight": 0, "sandboxes": [box]})
    for v, said in (({"level": "namespaces", "net": "netns"}, r" namespaces\n"),
                    ({"level": "namespaces", "net": "host"}, r" namespaces, host network\n"),
                    ({"level": "none", "net": "seccomp"}, r" none: NOT CONFINED\n"),
                    ({"level": "none", "net": "host"}, r" none: NOT CONFINED, host network\n")):
        box["confinement"] = v
        ats.matches(home.ctl("status", code=0).stdout.decode(), said)
    b.stop()
    home.configure({"sandbox": {"min_level": "none", "network": "host"}})
    r = home.ctl("config", "check", code=0)
    ats.matches(r.stderr.decode(), "(?s)warning: sandbox.min_level is none.*"
                "warning: sandbox.network is host")
    ats.equal(len(json.loads(home.ctl("--json", "config", "check", code=0).stdout)["warnings"]), 2)
    r = home.ctl("--json", "doctor", code=None)
    rows = [x for x in json.loads(r.stdout)["dependencies"] if x["state"] == "warning"]
    ats.equal([x["name"] for x in rows], ["configuration"] * 2)
    home.configure({"sandbox": {"min_level": "landlock"}})
    ats.equal(home.ctl("config", "check", code=0).stderr, b"")


CAPS = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+mknod"


@ats.test("a machine that cannot confine as asked: the call says what is missing and what to do")
def _(home):
    if os.geteuid() != 0:
        ats.skip("needs root to set the stage")
    home.prefix = ["/usr/bin/setpriv", "--bounding-set", CAPS, *home.prefix]
    r = home.ctl("--json", "call", "Bash", json.dumps({"command": "echo ran"}), code=125)
    text = r.stdout.decode() + r.stderr.decode()
    for word in ("confinement_unavailable", "clone(CLONE_NEWNS", "remedy: give the container"):
        ats.contains(text, word)
    out = home.ctl("status", code=1).stdout.decode()
    ats.contains(out, "remedy: give the container")

ats.main()
