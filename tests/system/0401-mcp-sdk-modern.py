#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official MCP client of the second generation (TypeScript, pinned) against atsctl mcp and a
real brain: 2026-07-28 by discovery, lists that may be kept, subscriptions, approvals in answers,
and deaths in the middle."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills
import leash

SDK = "@modelcontextprotocol/client@2.4.0"
TOOL = {"description": "says it again", "argv": ["/bin/cat"],
        "input": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}


class Sdk(leash.Leash):
    def __init__(self, home, mode="auto", forms=False, session=None):
        super().__init__(home, "mcp_sdk2.mjs", SDK)
        self.info = self.do("connect", mode=mode, forms=forms, **self.server(session))

    def said(self, result):
        """Answers the dialog that is open; what it showed."""
        params = self.take_event("asked")["params"]
        self.do("reply", result=result)
        return params

    def errors(self):
        return [e for e in self.events if e["event"] == "error"]


def accept(decision):
    return {"action": "accept", "content": {"decision": decision}}


def configured(home, **approvals):
    home.configure({"approvals": approvals,
                    "gateways": {"run": {"kind": "command", "tools": {"push": TOOL}}}})


@ats.test("it finds 2026-07-28 by itself, or pinned; a client of before is served as before",
          users=True)
def _(home):
    for mode in ("auto", {"pin": ats.MODERN}):
        sdk = Sdk(home, mode)
        ats.equal((sdk.info["era"], sdk.info["version"]), ("modern", ats.MODERN))
        ats.equal(sdk.info["server"]["name"], "agent-tool-server")
        ats.equal(sdk.info["capabilities"], {"tools": {"listChanged": True}})
        ats.contains(sdk.info["instructions"], "sandbox")
        ats.equal(sdk.do("discover")["supportedVersions"], [ats.MODERN])
        home.write("a", "one\n")
        ats.equal(sdk.text("Read", file_path="a"), "1\tone")
        ats.contains(sdk.text("Edit", file_path="a", old_string="one", new_string="1"), "+1")
        ats.equal(sdk.text("Bash", command="cat a"), "1")
        ats.equal(sdk.error("Bash", command="echo why >&2; exit 3"), "Exit code 3\nwhy")
        m = sdk.answer(sdk.call("Raed"))
        ats.equal(m["error"]["code"], -32602)
        ats.contains(m["error"]["message"], "did you mean Read?")
        ats.equal(sdk.errors(), [])
        sdk.do("close")
    old = Sdk(home, "legacy")
    ats.equal((old.info["era"], old.info["version"]), ("legacy", "2025-11-25"))
    ats.equal(old.text("Bash", command="cat a"), "1")
    ats.equal(old.errors(), [])


@ats.test("lists may be kept; a subscription tells when they are not true any more")
def _(home):
    configured(home)
    sdk = Sdk(home)
    lists = [sdk.do("list", cacheMode="bypass") for _ in range(2)]
    ats.equal(lists[0]["tools"], lists[1]["tools"])
    ats.check(lists[0]["ttlMs"] > 0, lists[0])
    ats.equal(lists[0]["cacheScope"], "private")
    ats.contains([t["name"] for t in lists[0]["tools"]], "run__push")
    # Some have nothing to say, and are open all the same.
    ats.equal(sdk.do("listen", name="t", filter={"toolsListChanged": True,
                                                 "promptsListChanged": True})["honored"],
              {"toolsListChanged": True})
    ats.equal(sdk.do("listen", name="p", filter={"promptsListChanged": True})["honored"], {})
    # Another engine tells its list, to a subscription that the client never opened again.
    os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
    sdk.event("list_changed")
    ats.equal(sdk.text("Bash", command="echo on"), "on")
    for name in "tp":
        sdk.do("unlisten", name=name)
        e = sdk.take_event("ended")
        ats.equal((e["name"], e["why"]), (name, "local"))
    ats.equal(sdk.errors(), [])


@ats.test("progress, cancelling, 60 calls at once")
def _(home):
    sdk = Sdk(home)
    tag = sdk.call("Bash", progress=True, command="echo early; sleep 1.2; echo middle; sleep 7777")
    while "middle" not in json.dumps(sdk.take_event("progress")):
        pass
    sleepers = ats.find(home.brain_pid(), "sleep 7777")
    ats.check(sleepers, "it runs")
    sdk.do("cancel", of=tag)
    ats.check("error" in sdk.answer(tag))
    ats.equal(ats.wait_gone(sleepers), [])
    tags = {sdk.call("Bash", command="echo n%d" % i): "n%d" % i for i in range(60)}
    for tag, want in tags.items():
        ats.equal(sdk.result(tag), (want, False))
    ats.equal(sdk.errors(), [])


@ats.test("approvals are dialogs within a call: approved, denied, dismissed, two at once")
def _(home):
    configured(home, elicitation=True)
    sdk = Sdk(home, forms=True)
    tag = sdk.call("run__push", to="here")
    shown = sdk.said(accept("approve"))
    ats.equal(shown["mode"], "form")
    for part in ("run", "push", '"to": "here"'):
        ats.contains(shown["message"], part)
    ats.equal(sdk.result(tag), ('{"to":"here"}', False))
    for no in ({"action": "decline"}, accept("deny")):
        tag = sdk.call("run__push", to="not here")
        sdk.said(no)
        text, is_error = sdk.result(tag)
        ats.check(is_error, text)
        ats.contains(text, "denied")
    # A dismissed one leaves it to the terminal.
    tag = sdk.call("run__push", to="later")
    sdk.said({"action": "cancel"})
    id = json.loads(home.ctl("approvals", "--json", code=0).stdout)["id"]
    home.ctl("deny", id, code=0)
    ats.contains(sdk.result(tag)[0], "denied")
    # Two at once, answered the other way round.
    tags = [sdk.call("run__push", to="a"), sdk.call("run__push", to="b")]
    first, second = sdk.take_event("asked"), sdk.take_event("asked")
    ats.check(first["params"]["message"] != second["params"]["message"])
    sdk.do("reply", result=accept("approve"))
    sdk.do("reply", result=accept("approve"))
    ats.equal({sdk.result(t)[0] for t in tags}, {'{"to":"a"}', '{"to":"b"}'})
    ways = [json.loads(x).get("way") for x in
            home.ctl("audit", "--json", code=0).stdout.splitlines()]
    ats.contains(ways, "elicitation sdk2-test")
    ats.equal(sdk.errors(), [])


@ats.test("not let by the configuration, or by the client: the terminal decides")
def _(home):
    configured(home, elicitation=False)
    for forms in (True, False):
        sdk = Sdk(home, forms=forms)
        tag = sdk.call("run__push", to="x")
        id = json.loads(ats.until(lambda: home.ctl("approvals", "--json").stdout,
                                  "an approval"))["id"]
        home.ctl("deny", id, code=0)
        ats.contains(sdk.result(tag)[0], "denied")
        ats.equal([e for e in sdk.events if e["event"] == "asked"], [])
        sdk.do("close")


def killed_while_asked(role, may_be_lost):
    @ats.test("%s is killed while the person is asked; the call runs once at most" % role)
    def _(home):
        lost = may_be_lost
        configured(home, elicitation=True)
        sdk = Sdk(home, forms=True)
        tag = sdk.call("run__push", to="once")
        sdk.event("asked")
        os.kill(kills.of_role(home, role)[-1], signal.SIGKILL)
        ats.until(lambda: kills.of_role(home, role), "another " + role)
        sdk.said(accept("approve"))
        if lost and not sdk.is_answered(tag, "asked"):
            # Its engine lived long enough to write down that it was not started: it is asked anew.
            sdk.said(accept("approve"))
            lost = None
        text, is_error = sdk.result(tag)
        if lost:        # its approval was the former vault's
            ats.contains(text, "unknown")
        ats.equal((is_error, lost or text), (bool(lost), lost or '{"to":"once"}'))
        audit = home.ctl("audit", "--json", code=0).stdout.splitlines()
        ats.equal([json.loads(x)["event"] for x in audit].count("ordered"), 0 if lost else 1)
        ats.equal([e for e in sdk.events if e["event"] == "close"], [])


killed_while_asked("engine", False)
killed_while_asked("vault", True)


@ats.test("the client closes with subscriptions and a dialog open: atsctl mcp ends")
def _(home):
    configured(home, elicitation=True)
    sdk = Sdk(home, forms=True)
    sdk.do("listen", name="t", filter={"toolsListChanged": True})
    sdk.call("run__push", to="never")
    sdk.event("asked")
    sdk.do("close")
    ats.equal(ats.wait_gone([sdk.info["pid"]]), [])
    ats.until(lambda: not home.ctl("approvals", "--json").stdout, "the approval is withdrawn")


ats.main()
