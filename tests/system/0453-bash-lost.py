#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sandbox that is lost under a command: what it had printed is told."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills


def lost_under(home, command, seen):
    """The text of a Bash call whose sandbox dies after the progress that says seen."""
    mcp = home.mcp()
    mcp.initialize()
    mcp.tool("Bash", {"command": "true"})
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {"command": command},
                                 "_meta": {"progressToken": "p"}})
    while True:
        m = mcp.message(30)
        ats.equal(m.get("method"), "notifications/progress")
        if m["params"]["message"] == seen:
            break
    os.kill(kills.of_role(home, "front")[-1], 9)
    r = mcp.answer(id, 30)["result"]
    ats.check(r["isError"], r)
    return r["content"][0]["text"]


@ats.test("what a command had printed is in the text of its unknown outcome", users=True)
def _(home):
    text = lost_under(home, "echo begin; printf 'w\\377rong \\344\\275\\240\\n'; sleep 60",
                      "w\ufffdrong \u4f60")
    ats.contains(text, "outcome of this call is unknown: the sandbox was lost (")
    ats.contains(text, "it was not run again")
    ats.check(text.endswith("It had printed 17 bytes when it was last heard of:\nbegin\n"
                            "w\ufffdrong \u4f60\n"), text)


@ats.test("of a long output the newest, without growing")
def _(home):
    text = lost_under(home, "seq 300000; echo last; sleep 60", "last")
    ats.matches(text, r"It had printed 1988900 bytes when it was last heard of; the newest of them:"
                      r"\n.*\n299999\n300000\nlast\n$")
    ats.check(len(text) < 10000, len(text))


@ats.test("a sandbox that ends for a name that cannot be put back is replaced by another")
def _(home):
    if os.geteuid() != 0 or not ats.set_immutable(home.ws, True):
        ats.skip("no immutable directories here")
    ats.set_immutable(home.ws, False)
    os.mkfifo(os.path.join(home.ws, "go"))
    made = os.path.join(home.ws, ".mcp.json")
    mcp = home.mcp()
    mcp.initialize()
    mcp.tool("Bash", {"command": "true"})
    old = kills.of_role(home, "zygote shell")[-1]
    os.kill(old, signal.SIGSTOP)    # or it is moved before that is impossible
    try:
        id = mcp.send("tools/call", {"name": "Bash", "arguments": {
            "command": "echo evil > .mcp.json; cat go; echo printed"}})
        ats.until(lambda: os.path.exists(made), "made")
        ats.set_immutable(home.ws, True)
        os.kill(old, signal.SIGCONT)
        with open(os.path.join(home.ws, "go"), "w", encoding="ascii"):
            pass
        text = mcp.answer(id, 30)["result"]["content"][0]["text"]
        ats.contains(text, "printed")
        ats.contains(text, "could not be put back; hands.log names it. This sandbox ends.")
        ats.until(lambda: old not in kills.of_role(home, "zygote shell"), "it ends")
    finally:
        ats.set_immutable(home.ws, False)
    os.remove(made)
    r = mcp.tool("Bash", {"command": "echo on"})
    ats.equal((r["content"][0]["text"].strip(), bool(r.get("isError"))), ("on", False))


ats.main()
