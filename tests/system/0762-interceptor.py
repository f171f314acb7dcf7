#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""With REMOTE_TOOLS_URL unset the interceptor costs one branch that always goes the same way:
counted, instruction by instruction, and not timed."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def counted(name):
    if ats.SANITIZED:
        ats.skip("instrumented programs have other instructions")
    env = {k: v for k, v in os.environ.items() if k != "REMOTE_TOOLS_URL"}
    r = subprocess.run([os.path.join(ats.BUILD, "bench", name)], env=env, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, timeout=ats.TIMEOUT)
    if r.returncode == 2 and b"REMOTE_TOOLS_URL" not in r.stderr:
        ats.skip("no process can be traced here")
    ats.equal(r.returncode, 0, r.stderr)
    return json.loads(r.stdout)


def register(name, how):
    @ats.test("off, through the %s library: one branch, and no call" % how, home=False)
    def _():
        r = counted(name)
        ats.equal((r["branches"], r["one_way"]), (1, True))
        # what is compared has to come from memory: the rest is that and the comparison
        ats.check(r["off"] - r["plain"] <= 4, r)


register("interceptor", "shared")
register("interceptor-static", "static")


ats.main()
