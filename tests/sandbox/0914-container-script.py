#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/container/podman-sandbox with a real podman: brain makes the container, and another one
when that is killed in the middle of a turn; the turn goes on."""
import json
import os
import shutil

from pod import engine, ats

SCRIPT = os.path.join(ats.TOP, "packaging", "container", "podman-sandbox")


def names(e):
    return e.podman("ps", "--format", "{{.Names}}").split()


@ats.test("a turn goes on when its container is killed, in another one; shutdown leaves none")
def _(home):
    e = engine()
    e.image("system")
    os.chmod(home.dir, 0o711)
    boxes = os.path.join(home.dir, "boxes")
    os.mkdir(boxes, 0o700)
    podman, *rest = e.podman_argv()
    wrap = ["/usr/bin/env", "ATS_PODMAN=" + json.dumps([shutil.which(podman), *rest]),
            "ATS_PODMAN_RUN=" + json.dumps(["--ulimit", "nofile=4096:4096", "--ulimit",
                                            "nproc=4096:4096"]), SCRIPT]
    home.configure({
        "sandbox": {"url": "script:pod", "script_dir": boxes, "build_timeout_s": 60},
        "limits": {"start_ms": 60000, "queue_ms": 90000},
        "commands": {"pod.build": [*wrap, "build", boxes, "localhost/system"],
                     "pod.probe": [*wrap, "probe"], "pod.destroy": [*wrap, "destroy"]}})
    mcp = home.mcp()
    mcp.initialize()
    ats.equal(mcp.text("Bash", command="echo made > file; pwd", timeout=60), home.ws)
    ats.equal(home.read("file"), b"made\n")
    first = names(e)
    ats.equal(len(first), 1)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; sleep 1000"}})
    ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
    e.podman("kill", first[0])
    ats.contains(json.dumps(mcp.answer(id, 60)["result"]), "unknown")
    ats.equal(mcp.text("Bash", command="cat file ran", timeout=60), "made\nrun")
    second = names(e)
    ats.equal(len(second), 1)
    ats.check(second != first, second)
    home.ctl("shutdown", code=0)
    ats.until(lambda: not names(e), "the container is removed")


ats.main()
