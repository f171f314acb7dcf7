#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine that is stopped (SIGSTOP), or turns in a circle, is ended by the vault; its sandbox
lives on, and what runs there is answered by the next engine."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills


@ats.test("a stopped engine is replaced, and a call that runs is answered once")
def _(home):
    home.configure({"heartbeat_ms": 1000})
    mcp = home.mcp()
    mcp.initialize()
    go = os.path.join(home.ws, "go")
    os.mkfifo(go, 0o666)
    os.chmod(go, 0o666)
    call = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "the call runs")
    engine = kills.of_role(home, "engine")[-1]
    os.kill(engine, signal.SIGSTOP)
    ats.equal(ats.wait_gone([engine], 30), [], "the stopped engine")
    with open(go, "w", encoding="ascii") as f:
        f.write("from outside\n")
    ats.equal(mcp.answer(call)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")
    home.ctl("status", code=0)


ats.main()
