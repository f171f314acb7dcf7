# SPDX-License-Identifier: Apache-2.0
"""The client library: what its interceptor costs where tools run on the host, in instructions."""
import json
import os
import subprocess

from rig import DRIVERS


class Client:
    FIGURES = ("interceptor",)

    def interceptor(self):
        for name in ("interceptor", "interceptor-static"):
            env = {k: v for k, v in os.environ.items() if k != "REMOTE_TOOLS_URL"}
            r = json.loads(subprocess.run([os.path.join(DRIVERS, name)], check=True, env=env,
                                          stdout=subprocess.PIPE).stdout)
            self.row(name + " off: branches more", r["branches"], "", "a plain call, %g instructions"
                     % r["plain"], "1, one way", r["branches"] == 1 and r["one_way"])
            self.row(name + " off: instructions more", r["off"] - r["plain"], "", "the same",
                     "<= 4", r["off"] - r["plain"] <= 4)
