#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hooks at the vault, whose engine is a test: what it asks for is bounded, also what it does not
hear of."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from vault_rig import VaultRig

CONF = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "cat"}]}]}}
MORE_THAN_IT_MAY = 4000


@ats.test("hooks that are not there are refused, each")
def _(home):
    rig = VaultRig(home, CONF)
    s = rig.session()
    null = os.open(os.devnull, os.O_RDWR)
    for number, index, session, fds in ((1, 0, "s-000000000000", 3), (2, 1, s, 3),
                                        (3, 2 ** 53, s, 3)):
        rig.engine.say("RUN_HOOK", number, index, session, fds=[null] * fds)
        got = rig.engine.expect("HOOK_ENDED")
        ats.check(got[0] == number and got[1] != 0, got)
    rig.engine.say("RUN_HOOK", 4, 0, s, fds=[null] * 3)
    ats.equal(rig.engine.expect("HOOK_ENDED"), [4, 0, 0, ""])
    os.close(null)


@ats.test("an engine that asks for hooks and does not read what comes of them is ended")
def _(home):
    rig = VaultRig(home, CONF)
    null = os.open(os.devnull, os.O_RDWR)
    asked = 0
    try:
        while asked < MORE_THAN_IT_MAY:
            rig.engine.say("RUN_HOOK", asked, 0, "s-000000000000", fds=[null] * 3)
            asked += 1
    except (BrokenPipeError, ConnectionResetError):
        pass
    os.close(null)
    ats.check(asked < MORE_THAN_IT_MAY, asked)
    # the next one has nothing of it
    e = rig.next_engine()
    rig.session(engine=e)
    e.quiet()


if __name__ == "__main__":
    ats.main()
