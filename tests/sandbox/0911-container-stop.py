#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How containers with hands in them are stopped by podman."""
import time

from pod import Container, ats, busy, each_kind

GRACE = 10
PATIENT = ("bash", "-c", "trap 'exit 7' TERM; echo up >&2; while :; do sleep 0.05; done")
DEAF = ("bash", "-c", "trap '' TERM; echo up >&2; while :; do sleep 0.05; done")


def stop(c):
    begin = time.monotonic()
    c.engine.podman("stop", "-t", str(GRACE), c.id)
    ats.check(time.monotonic() - begin < GRACE, "it was killed")


@each_kind("podman stop: in time, status 0, the calls not done")
def _(c):
    c.link()
    below = busy(c)
    stop(c)
    ats.equal(c.code(), 0)
    ats.equal(ats.wait_gone(below, 10), [])
    f = c.peer.recv()
    while f is not None:
        ats.check(f.name != "result" or f.json["outcome"] != "done" or
                  f.json.get("is_error"), f.json)
        f = c.peer.recv()


@each_kind("podman stop with a command: its own status", command=PATIENT)
def _(c):
    c.logged("up")
    c.link()
    below = busy(c)
    stop(c)
    ats.equal(c.code(), 7)
    ats.equal(ats.wait_gone(below, 10), [])


@each_kind("podman stop with a command that does not care about TERM: 143",
      command=("sleep", "1000"))
def _(c):
    c.link()
    stop(c)
    ats.equal(c.code(), 143)


@ats.test("podman stop with a command that will not end: 137, in time", home=False)
def _():
    with Container(command=DEAF) as c:
        c.logged("up")
        stop(c)
        ats.equal(c.code(), 137)
        ats.contains(c.log(), "what does not end is killed")


@each_kind("podman kill leaves nothing")
def _(c):
    c.link()
    below = busy(c)
    c.engine.podman("kill", c.id)
    ats.equal(c.code(), 137)
    ats.equal(ats.wait_gone(below, 10), [])


ats.main()
