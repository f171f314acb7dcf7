#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""People decide with atsctl about calls that the real vault lets wait: approvals, approve, deny,
credential, gateway, audit; the engine and the gateways are the test (tests/lib/vault_rig.py)."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from terminal import Terminal
from vault_rig import STARTED, WAITS, VaultRig, sha256

SECRET = "s3cret-of-the-test"
CONF = {"credentials": {"tok": {"file": None}},
        "gateways": {"run": {"kind": "command", "credential": "tok", "credential_env": "T",
                             "tools": {"push": {
                                 "description": "d", "argv": ["/bin/true"],
                                 "input": {"type": "object",
                                           "properties": {"to": {"type": "string"}}}}}}}}


def rig_of(home):
    path = os.path.join(home.dir, "token")
    with open(path, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(SECRET + "\n")
    return VaultRig(home, dict(CONF, credentials={"tok": {"file": path}}))


def waits(rig, call, session, args):
    rig.engine.ask(call, session, "run__push", args)
    state, _, _, id = rig.engine.state(call)
    ats.equal(state, WAITS)
    return id


@ats.test("approve shows what the vault will run, and it runs once")
def _(home):
    rig = rig_of(home)
    s = rig.session()
    id = waits(rig, 1, s, '{"to":"\\u202eb\\u001b[2J", "n": 1.0}')
    ats.contains(home.ctl("approvals", code=0).stdout, id.encode())
    a = json.loads(home.ctl("--json", "approvals", "--session", s, code=0).stdout)
    ats.equal((a["gateway"], a["session"], a["workspace"]), ("run", s, home.ws))
    t = Terminal(home, ats.program("atsctl"), "approve", id)
    t.expect(rb"\[y/N\] $")
    for text in ("run", "push", s, home.ws, r'"to": "\u202eb\u001b[2J"', '"n": 1,\r\n'):
        ats.contains(t.text, text.encode())
    t.type("y\n")
    gateway = rig.gateway()
    rig.ready(gateway)
    ats.equal(rig.engine.state(1)[0], STARTED)
    ats.contains(t.end(0), b"is approved")
    order = gateway.expect("GW_ORDER")
    ats.equal(order[2], "push")
    ats.equal(sha256(order[3]), a["sha256"])
    gateway.say("GW_ENDED", 1, 0)
    ats.contains(home.ctl("deny", id, code=1).stderr, b"no approval of this id waits")


@ats.test("deny, with a reason that the engine hears; one that is cancelled while it is asked")
def _(home):
    rig = rig_of(home)
    s = rig.session()
    id = waits(rig, 1, s, '{"to":"a"}')
    home.ctl("deny", id, "--reason", "not this one", code=0)
    ats.contains(rig.engine.refused(1)[1], "not this one")
    id = waits(rig, 2, s, '{"to":"a"}')
    t = Terminal(home, ats.program("atsctl"), "approve", id)
    t.expect(rb"\[y/N\] $")
    rig.engine.say("GATEWAY_CANCEL", 2)
    ats.contains(t.end(1), b"waits no more: cancelled")
    lines = [json.loads(x) for x in home.ctl("audit", "--json", code=0).stdout.splitlines()]
    ats.equal([x["event"] for x in lines], ["asked", "denied", "asked", "withdrawn"])
    out = home.ctl("audit", "--tool", "run__push", code=0).stdout.decode()
    ats.matches(out, r"denied +%s +run__push .*terminal +not this one\n" % s)


@ats.test("names and states of credentials and gateways, never a value")
def _(home):
    rig_of(home)
    for args in (["credential", "ls"], ["credential", "test"], ["credential", "test", "tok"],
                 ["gateway", "ls"]):
        r = home.ctl(*args, code=0)
        ats.missing(r.stdout.decode(), SECRET[:6])
        ats.contains(r.stdout.decode(), "run" if args[0] == "gateway" else "tok")
    os.chmod(os.path.join(home.dir, "token"), 0o644)
    r = home.ctl("credential", "test", "tok", code=1)
    ats.contains(r.stdout.decode(), "failed")


ats.main()
