#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl mcp in front of a fake brain, with failing allocations and a brain that goes: each
request has one answer, or atsctl ends and says why (memory is not there: it may)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import fake_door
import fake_vault
import faults

REQUESTS = (("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                            "clientInfo": {"name": "t", "version": "1"}}),
            ("tools/call", {"name": "Read", "arguments": {"file_path": "a" * 3000}}),
            ("tools/call", {"name": "Bash", "arguments": {"command": "echo"}}))


@faults.each("atsctl", "requests before and after a lost door", about=28)
def _(run):
    brain = fake_door.FakeBrain(os.path.join(run.home.run, "ats"))
    run.home.open_things.append(brain)
    brain.on("tools/call")(lambda c, m, f: {"content": [{"type": "text", "text": "t" * 9000}]})
    mcp = run.home.mcp()
    answered = []
    try:
        for method, params in REQUESTS:
            mcp.request(method, params)
        brain.drop()
        for method, params in REQUESTS[1:]:
            mcp.request(method, params)
        answered = mcp.answers
    except (ats.Failure, ats.RpcError, BrokenPipeError) as e:
        ats.check("in time" not in str(e), e)
    code, err = mcp.end()
    with open(os.path.join(run.home.state, "ctl.log"), "wb") as f:
        f.write(err)
    ats.check(not answered, "answers that nobody asked for: %r" % answered)
    run.ended_well(code, may=(0, 1, 125))
    said = [l for l in err.splitlines() if b"ats-fault" not in l]
    ats.check(code == 0 or said, "exit %d without a word" % code)


@faults.each("atsctl", "a call that a person is asked about in its answer", about=40)
def _(run):
    brain = fake_vault.FakeVault(os.path.join(run.home.run, "ats"))
    run.home.open_things.append(brain)

    @brain.on("tools/call")
    def _(conn, m, fds):
        conn.send({"jsonrpc": "2.0", "method": "ats/call.waits", "params": {
            "requestId": m["id"], "approval": brain.wants("g", "t", m["params"]["arguments"])}})
    brain.on("ats/call.watch")(lambda c, m, f: {})
    mcp, answered = run.home.mcp(), []
    params = {"name": "g__t", "arguments": {"x": "a" * 3000}}
    forms = {"capabilities": {"elicitation": {}}}
    try:
        i = mcp.modern("tools/call", params, **forms)
        r = mcp.answer(i)["result"]
        mcp.modern("tools/call", {
            **params, "requestState": r["requestState"], "inputResponses": {
                "approval": {"action": "accept", "content": {"decision": "approve"}}}}, **forms)
        brain.wait_decided()
        brain.conns[0].send({"jsonrpc": "2.0", "id": i, "result": {"content": []}})
        mcp.answer(mcp.last_id)
        answered = mcp.answers
    except (ats.Failure, ats.RpcError, BrokenPipeError, KeyError, TypeError, IndexError) as e:
        ats.check("in time" not in str(e), e)
    code, err = mcp.end()
    with open(os.path.join(run.home.state, "ctl.log"), "wb") as f:
        f.write(err)
    ats.check(not answered, "answers that nobody asked for: %r" % answered)
    run.ended_well(code, may=(0, 1, 125))
    ats.check(len(brain.decided) <= 1, brain.decided)


ats.main()
