#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A person is asked once about a call of the sandbox's tools: the question and its answer outlive the
engine, and are for what was shown."""
import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
from gateways import APPROVAL, CODES, REFUSED, STARTED, WAITS

ASKED = {"Bash": {"command": "x"}, "Write": {"file_path": "f", "content": "x"},
         "Read": {"file_path": "f"}}
RULES = [("ask", t) for t in ASKED]


class Rig:
    def __init__(self, home, **settings):
        self.e = engine.Engine(home, rules=RULES, **settings)
        self.s, self.b = self.e.session()
        self.e.listen_for(self.b)
        self.d = self.e.door(self.s, "nonce")

    def ask(self, tool="Bash", key="k", **arguments):
        return self.d.send("ats/tool.call", {"name": tool, "call_id": key,
                                             "arguments": arguments or ASKED[tool]})

    def asked(self):
        return self.e.expect("GATEWAY_ASK")[0]

    def says(self, call, state, code="", text="", approval=""):
        return ("GATEWAY_STATE", call, state, CODES[code] if code else 0, text, approval)

    def restart(self, *owed, alive=()):
        self.e.owed = list(owed)
        self.e.restart(alive)
        self.d = self.e.door(self.s, "nonce")

    def not_asked(self):
        self.e.heard()
        ats.equal([m for m in self.e.inbox if m[0] == "GATEWAY_ASK"], [])

    def runs(self, i, h=None, tool="Bash", **want):
        """It is sent, once, and answered; nobody was asked."""
        h = h or self.e.hands(self.b)
        f = h.call()
        ats.equal(f.json["input"], want.get("input", ASKED[tool]))
        ats.equal(f.json.get("attempt", 0), want.get("attempt", 0))
        h.result(f, b"ran")
        a = self.d.answer(i)["result"]
        ats.equal((a["outcome"], a["content"][0]["text"]), ("done", "ran"))
        self.not_asked()
        return h


@ats.test("it waits for a person when the engine dies: the same question, and its answer counts")
def _(home):
    for tool in ASKED:
        for early in (True, False):         # the client is back before the person has answered
            r = Rig(ats.Home())
            r.ask(tool)
            call = r.asked()
            r.e.tell(*r.says(call, WAITS, approval=APPROVAL))
            r.restart(r.says(call, WAITS, approval=APPROVAL))
            if early:
                i = r.ask(tool)
                ats.equal(r.d.request("ping", id="p"), {})
            r.e.tell(*r.says(call, STARTED))
            ats.equal(r.e.expect("GATEWAY_NOTED"), [call])    # it is written down
            if not early:
                i = r.ask(tool)
            r.runs(i, tool=tool)
            r.e.close()


@ats.test("it is allowed and waits for its sandbox when the engine dies: it runs without a question")
def _(home):
    for tool in ASKED:
        r = Rig(ats.Home())
        r.ask(tool)
        call = r.asked()
        r.e.tell(*r.says(call, STARTED))
        ats.equal(r.e.expect("GATEWAY_NOTED"), [call])
        r.e.need(r.b)
        for _ in range(2):                  # one that nobody asks for lives on, for a while
            r.restart()
            r.e.heard()
        r.runs(r.ask(tool), tool=tool)
        i = r.ask(tool)                     # and once
        if tool == "Read":
            ats.equal(r.d.answer(i)["result"]["content"][0]["text"], "ran")     # from memory
        else:
            ats.equal(r.d.answer(i)["result"]["outcome"], "done")
        r.not_asked()
        r.e.close()


@ats.test("the answer came to an engine that died with it: the next one is told, and asks nobody")
def _(home):
    r = Rig(home)
    r.ask()
    call = r.asked()
    r.e.proc.send_signal(19)
    r.e.tell(*r.says(call, STARTED))
    r.restart(r.says(call, STARTED))
    ats.equal(r.e.expect("GATEWAY_NOTED"), [call])
    r.runs(r.ask())


@ats.test("a person said no, to this engine or while there was none: that is the answer, kept")
def _(home):
    r = Rig(home)
    r.ask()
    call = r.asked()
    r.restart(r.says(call, REFUSED, "denied", "not this"))
    ats.equal(r.e.expect("GATEWAY_NOTED"), [call])
    for _ in range(2):
        a = r.d.answer(r.ask())["result"]
        ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))
        ats.contains(a["content"][0]["text"], "not this")
        r.not_asked()
        r.restart()


@ats.test("it was sent with a person's yes: sent again, or tried again, it needs no other")
def _(home):
    r = Rig(home)
    r.ask("Write")
    r.e.tell(*r.says(r.asked(), STARTED))
    h = r.e.hands(r.b)
    h.call()
    r.restart(alive=[r.b])
    h.close()
    i = r.ask("Write")
    ats.equal(r.d.request("ping", id="p"), {})
    h = r.e.accept(r.b, h.boot)             # it never came
    h.call()
    r.restart()                             # it may have come
    h.close()
    i = r.ask("Write")
    r.runs(i, r.e.hands(r.b), "Write", attempt=1)


@ats.test("the question had not left yet: the next engine asks it")
def _(home):
    r = Rig(home)
    r.ask()
    call = r.asked()
    r.restart()
    i = r.ask()
    ats.equal(r.asked(), call)
    r.e.tell(*r.says(call, STARTED))
    r.runs(i)


def hook_says(r, what):
    """The next hook runs, says that, and ends."""
    while True:
        ats.wait_readable(r.e.vault, ats.TIMEOUT)
        data, fds, _, _ = socket.recv_fds(r.e.vault, 65536, 4)
        name, _, values = ats.Vault.unpack(data)
        if name == "RUN_HOOK":
            break
    os.write(fds[1], json.dumps(what).encode())
    for fd in fds:
        os.close(fd)
    r.e.tell("HOOK_ENDED", values[0], 0, 0, "")


@ats.test("another question is another: what a hook makes of it now was not agreed to")
def _(home):
    r = Rig(home)
    r.ask()
    r.e.tell(*r.says(r.asked(), STARTED))
    r.e.need(r.b)
    r.e.hooks = [(0, 0, 60000, "Bash", 0)]
    r.restart()
    i = r.ask()
    hook_says(r, {"hookSpecificOutput": {"updatedInput": {"command": "z"}}})
    _, _, _, _, args = r.e.expect("GATEWAY_ASK")
    ats.equal(json.loads(args), {"command": "z"})
    r.e.hooks = []                          # and what is asked now is this
    r.restart()
    j = r.ask()
    call, _, _, _, args = r.e.expect("GATEWAY_ASK")
    ats.equal(json.loads(args), {"command": "x"})
    r.e.tell(*r.says(call, STARTED))
    r.runs(j)
    del i
    a = r.d.answer(r.ask(command="y"))      # nor is another input by that id
    ats.equal(a["error"]["data"]["code"], "id_reused")


def known(r, call):
    try:
        return r.d.request("ats/inspect", {"id": "c-%d" % call})
    except ats.RpcError:
        return None


@ats.test("nobody asks for it again: the question is taken back, and what was agreed to is forgotten")
def _(home):
    r = Rig(home, orphan_ms=200)
    r.ask()
    call = r.asked()
    r.restart(r.says(call, WAITS, approval=APPROVAL))
    ats.equal(r.e.expect("GATEWAY_CANCEL"), [call])
    i = r.ask()
    other = r.asked()
    r.e.tell(*r.says(other, STARTED))
    r.e.need(r.b)
    del i
    r.restart()
    ats.until(lambda: not known(r, other), "it is forgotten")
    r.ask()
    ats.check(r.asked() not in (call, other))


@ats.test("who asks takes it back after a restart: the question too")
def _(home):
    r = Rig(home)
    r.ask()
    call = r.asked()
    r.restart(r.says(call, WAITS, approval=APPROVAL))
    i = r.ask()
    r.d.request("ats/call.cancel", {"call_id": "k"})
    ats.equal(r.e.expect("GATEWAY_CANCEL"), [call])
    a = r.d.answer(i)["result"]
    ats.equal((a["outcome"], a["code"]), ("not_started", "cancelled"))


@ats.test("a session that is closed takes what was asked for it along")
def _(home):
    r = Rig(home)
    r.ask()
    call = r.asked()
    r.restart(r.says(call, WAITS, approval=APPROVAL))
    r.ask()
    ats.equal(r.d.request("ping", id="p"), {})
    r.e.tell("SESSION_CLOSED", r.s)
    ats.equal(r.e.expect("GATEWAY_CANCEL"), [call])


ats.main()
