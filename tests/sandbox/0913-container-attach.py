#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""brain reaches hands in a container by podman exec; the container is killed in the middle of a
turn and started again, and the turn goes on."""
import json
import os
import shutil

from pod import Container, ats


def configure(home, c):
    podman, *rest = c.engine.podman_argv("exec", "-i", c.id, "/ats-hands", "attach", "--socket",
                                         "/sockets/s")
    home.configure({"sandbox": {"url": "exec:pod"},
                    "commands": {"pod": [shutil.which(podman), *rest]}})


def boxes(home):
    return json.loads(home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"]


@ats.test("a turn by podman exec goes on when the container is killed and started again")
def _(home):
    with Container(options=("min_level=landlock",)) as c:
        ats.until(lambda: os.path.exists(c.sock), "hands listens")
        configure(home, c)
        mcp = home.mcp(workspace="/workspace")
        mcp.initialize()
        ats.equal(mcp.text("Bash", command="pwd; echo made > file"), "/workspace")
        with open(c.ws + "/file", encoding="ascii") as f:
            ats.equal(f.read(), "made\n")
        box = boxes(home)[0]
        ats.equal((box["url"], box["state"]), ("exec:pod", "ready"))
        id = mcp.send("tools/call", {"name": "Bash", "arguments": {
            "command": "echo run >> ran; sleep 1000"}})
        ats.until(lambda: os.path.exists(c.ws + "/ran"), "the call runs")
        c.engine.podman("kill", c.id)
        c.proc.wait(60)
        c.engine.podman("start", c.id)
        ats.contains(json.dumps(mcp.answer(id)["result"]), "unknown")
        ats.contains(mcp.text("Read", file_path="/workspace/file"), "made")
        ats.equal(mcp.text("Bash", command="echo on; cat ran"), "on\nrun")
        ats.equal(boxes(home)[0]["losses"], 1)
        r = home.ctl("exec", "--workspace", "/workspace", "--", "cat", input="by exec", code=0)
        ats.equal(r.stdout, b"by exec")


@ats.test("a container that is not there is told of by podman's own words")
def _(home):
    with Container(options=("min_level=landlock",)) as c:
        ats.until(lambda: os.path.exists(c.sock), "hands listens")
        configure(home, c)
        c.engine.podman("kill", c.id)
        c.proc.wait(60)
        r = home.ctl("exec", "--workspace", "/workspace", "--", "true", code=125, timeout=60)
        ats.matches(r.stderr.decode(), "exec:pod gave no sandbox: .*container state")


ats.main()
