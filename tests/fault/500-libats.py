#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libats in the example runtime, in front of a fake brain that goes, with failing allocations: each
call that was asked for has one answer, or the session does not open and says why."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import fake_door
import faults
from runtime import Runtime

BOX = "b-0123456789ab"
HASH = "ab" * 32


def brain_of(home):
    b = fake_door.FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    path = os.path.join(home.ws, "f")
    b.on("ats/inspect")(lambda c, m, f: {"id": BOX, "url": "stdio"})
    b.on("ats/session.attach")(lambda c, m, f: {"workspace": home.ws})
    b.on("ats/tool.validate")(lambda c, m, f: {"valid": True, "text": "v" * 3000})
    b.on("ats/hook.run")(lambda c, m, f: {"decision": "none"})
    b.on("ats/tool.call")(lambda c, m, f: {
        "outcome": "done", "is_error": False, "content": [{"type": "text", "text": "t" * 9000}],
        "ctx_delta": {"cwd": home.ws, "shells": ["bash_1"], "reads": [
            {"path": path, "size": 1, "mtime_ns": 1, "sha256": HASH}]}})
    return b


ASKED = (("tool", "Read", {"file_path": "f"}), ("validate", "Edit", {"file_path": "f"}),
         ("hook", "Stop", {}), ("tool", "Read", {"file_path": "f" * 3000}))


@faults.each("libats", "calls before and after a lost door", about=60)
def _(run):
    brain = brain_of(run.home)
    rt = Runtime(run.home, "c", env={**run.home.env, **ats.test_env()})
    said = []
    try:
        for kind, name, value in ASKED:
            rt.ask(kind, name, value)
            said.append(rt.said())
        brain.drop()
        rt.ask(*ASKED[0])
        said.append(rt.said())
    except (ats.Failure, BrokenPipeError) as e:
        ats.check("in time" not in str(e), e)
    if rt.buffer:
        raise ats.Failure("one more line than was asked for: %r" % rt.buffer)
    code, err = rt.end()
    with open(os.path.join(run.home.state, "runtime.log"), "w", encoding="utf-8") as f:
        f.write(err)
    run.ended_well(code, may=(0, 1))
    ats.check(code == 0 or not said, "ended after %r: %s" % (said, err))
    ats.check(code == 1 or len(said) == len(ASKED) + 1, said)


ats.main()
