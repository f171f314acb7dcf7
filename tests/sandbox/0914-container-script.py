#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/container/podman-sandbox with a real podman, and by docker's client: brain makes the
container, and another one when that is killed in the middle of a turn; what is missing is told in
the words of podman or docker."""
import json
import os
import signal

from pod import engine, ats

SCRIPT = os.path.join(ats.TOP, "packaging", "container", "podman-sandbox")
KILLS = ("kill", "stop", "out of memory")


def names(e):
    return e.podman("ps", "-a", "--filter", "label=ats", "--format", "{{.Names}}").split()


def configure(home, program, image="localhost/system", run=()):
    os.chmod(home.dir, 0o711)
    boxes = os.path.join(home.dir, "boxes")
    os.makedirs(boxes, 0o700, exist_ok=True)
    wrap = ["/usr/bin/env", "ATS_PODMAN=" + json.dumps([program]),
            "ATS_PODMAN_RUN=" + json.dumps(run), SCRIPT]
    home.configure({
        "sandbox": {"url": "script:pod", "script_dir": boxes, "build_timeout_s": 60},
        "limits": {"start_ms": 60000, "queue_ms": 90000},
        "commands": {"pod.build": [*wrap, "build", boxes, image, home.dir],
                     "pod.probe": [*wrap, "probe"], "pod.destroy": [*wrap, "destroy"]}})
    return boxes


def end(e, name, how):
    """As people and kernels end one: its first process gets SIGKILL, or SIGTERM and time."""
    if how == "out of memory":
        os.kill(int(e.podman("inspect", "--format", "{{.State.Pid}}", name)), signal.SIGKILL)
    else:
        e.podman(how, *(["-t", "10"] if how == "stop" else []), name)


def goes_on(home, e, program):
    boxes = configure(home, program)
    mcp = home.mcp()
    mcp.initialize()
    ats.equal(mcp.text("Bash", command="echo made > file; pwd", timeout=60), home.ws)
    ats.equal(home.read("file"), b"made\n")
    seen = set()
    for how in KILLS:
        (now,) = names(e)
        ats.check(now not in seen, now)
        seen.add(now)
        id = mcp.send("tools/call", {"name": "Bash", "arguments": {
            "command": "echo run >> ran; sleep 1000"}})
        ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
        end(e, now, how)
        ats.matches(json.dumps(mcp.answer(id, 60)["result"]), "unknown|cancelled|ended")
        ats.equal(mcp.text("Bash", command="cat file; rm ran", timeout=60), "made")
    (last,) = names(e)
    ats.equal(os.listdir(boxes), [last], "what is left of the others")
    home.ctl("shutdown", code=0)
    ats.until(lambda: not names(e), "the container is removed")


@ats.test("a turn goes on when its container is killed, stopped or out of memory; shutdown leaves none")
def _(home):
    e = engine()
    e.image("system")
    goes_on(home, e, e.command())


@ats.test("the same by docker")
def _(home):
    e = engine()
    docker = e.docker()
    e.image("system")
    goes_on(home, e, docker)


@ats.test("a command that wants more memory than the container has ends, and the sandbox does not")
def _(home):
    e = engine()
    e.image("system")
    configure(home, e.command(), run=["--memory", "200m"])
    r = home.ctl("exec", "--", "bash", "-c", "x=a; while :; do x=$x$x; done", code=137, timeout=90)
    ats.contains(r.stderr, b"out of memory")
    first = names(e)
    home.ctl("exec", "--", "true", code=0, timeout=60)
    ats.equal(names(e), first)
    home.ctl("shutdown", code=0)


def fails(home, says):
    r = home.ctl("exec", "--", "true", code=125, timeout=90)
    ats.matches(r.stderr.decode(), says)
    home.ctl("shutdown", code=0)


@ats.test("no such image, and no podman: told in its own words")
def _(home):
    e = engine()
    e.image("system")
    for program, more, says in (
            (e.command(), {"image": "localhost/none"}, "podman run: exit 125: .*localhost/none"),
            ("/usr/bin/false", {}, "false ps: exit 1")):
        configure(home, program, **more)
        fails(home, says)
    ats.equal(names(e), [])


@ats.test("no such image for docker, and a daemon that is away, also for a sandbox that is there")
def _(home):
    e = engine()
    docker = e.docker()
    e.image("system")
    configure(home, docker, image="localhost/none")
    fails(home, "docker run: exit 125: .*localhost/none")
    configure(home, docker)
    home.ctl("exec", "--", "true", code=0, timeout=60)
    (name,) = names(e)
    e.end_service()
    end(e, name, "kill")
    fails(home, "docker ps: exit 1: .*(Is the docker daemon running|docker.sock)")


ats.main()
