#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command of a container beside hands, and hands beside another init."""
import os
import signal

from pod import KINDS, Container, ats, busy, each_kind


@each_kind("podman kill -s reaches the command",
      command=("bash", "-c", "trap 'echo got >&2' USR1; trap 'exit 4' HUP; echo up >&2; "
               "while :; do sleep 0.05; done"))
def _(c):
    c.logged("up")
    c.engine.podman("kill", "-s", "USR1", c.id)
    c.logged("got")
    c.engine.podman("kill", "-s", "HUP", c.id)
    ats.equal(c.code(), 4)


@each_kind("the command's end is the container's, and the tools'",
      command=("bash", "-c", "until [ -e /workspace/go ]; do sleep 0.05; done; exit 5"))
def _(c):
    c.link()
    below = busy(c)
    with open(c.ws + "/go", "w", encoding="ascii"):
        pass
    ats.equal(c.code(), 5)
    ats.equal(ats.wait_gone(below, 10), [])


@each_kind("the command is not in the tools' box",
      command=("bash", "-c", "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status >&2; "
               "ls /sockets >&2; ls -l /proc/self/fd >&2; id -u >&2; echo up >&2; "
               "kill -0 1 && echo sees >&2; sleep 1000"))
def _(c):
    c.logged("sees")
    text = c.log()
    ats.matches(text, r"NoNewPrivs:\s1\nSeccomp:\s2\n")
    ats.contains(text, "\ns\n")
    ats.equal(text.count("socket:"), 0, text)


def other_init(run):
    """bash is pid 1 and hands its child."""
    line = ("/ats-hands --listen unix:/sockets/s --workspace /workspace "
            "--option min_level=landlock & child=$!; trap 'kill -TERM $child' TERM; "
            "until wait $child; code=$?; ! kill -0 $child 2>/dev/null; do :; done; "
            "echo ended with $code >&2; set -- /proc/[0-9]*; [[ $* == /proc/1 ]] && "
            "echo nothing is left >&2")
    with Container(run=(*run, "--entrypoint", "/bin/bash"), argv=["-c", line],
                   uid=1000 if "1000" in run else 0) as c:
        c.link()
        below = busy(c) - {c.pid}
        hands = next(p for p in below if ats.comm(p) == "ats-hands")
        os.kill(hands, signal.SIGTERM)
        c.logged("ended with 0")
        c.logged("nothing is left")
        ats.equal(ats.wait_gone(below, 10), [])


for kind, options in KINDS:
    ats.test("beside another init (%s)" % kind, home=False)(
        lambda options=options: other_init(options))

ats.main()
