#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hands by itself: the start of the link, a call, refusals at the gate."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

CALL = {"ctx": {"cwd": ""}, "deadline_ms": 30000, "session": "s-1"}


def call(home, tool, **arguments):
    return dict(CALL, name=tool, input=arguments, ctx={"cwd": home.ws})


@ats.test("hello, ready with a verified confinement, and a Read")
def _(home):
    home.write("a.txt", "one\ntwo\n")
    h = ats.Hands(home)
    hello, ready = h.link.hello_as_brain()
    ats.equal(hello.json["role"], "hands")
    ats.check(ready.json["confinement"].get("verified") is True, ready.json)
    h.link.send("call.tool", 7, call(home, "Read", file_path="a.txt"))
    r = h.link.expect("result", call=7)
    ats.equal(r.json["outcome"], "done")
    ats.contains(r.payload.decode(), "2\ttwo")
    ats.equal(r.json["ctx_delta"]["reads"][0]["path"], os.path.join(home.ws, "a.txt"))


@ats.test("many calls at once are each answered once")
def _(home):
    h = ats.Hands(home)
    h.link.hello_as_brain()
    for i in range(1, 41):
        h.link.send("call.tool", i, call(home, "Bash", command="echo %d" % i))
    seen = {}
    while len(seen) < 40:
        r = h.link.expect("result")
        ats.check(r.call not in seen, "twice: %d" % r.call)
        seen[r.call] = r.payload.decode().strip()
    ats.equal(seen, {i: str(i) for i in range(1, 41)})


def refused(home, code, *frames, after_ready=True):
    """The frames end the link with goodbye of that code; hands takes the next peer."""
    h = ats.Hands(home)
    if after_ready:
        h.link.hello_as_brain()
    for data in frames:
        h.link.sock.sendall(data)
    while True:
        f = h.link.recv()
        if f is None:
            got = None
            break
        if f.name == "control.goodbye":
            got = f.json["code"]
            break
    ats.equal(got, code)
    ats.check(h.proc.poll() is None, "hands ended")
    again = h.connect()
    again.hello_as_brain(epoch=2)
    again.close()


@ats.test("a call before ready ends the link, not hands")
def _(home):
    refused(home, "out_of_state", ats.Link.pack("call.tool", 1, call(home, "LS", path="/")),
            after_ready=False)


@ats.test("a frame of the other side ends the link, not hands")
def _(home):
    refused(home, "protocol", ats.Link.pack("event.stdout", 1, {"offset": 0}))


@ats.test("a result for a call that hands did not make ends the link, not hands")
def _(home):
    refused(home, "out_of_state", ats.Link.pack("result", 1, {"outcome": "done"}))


@ats.test("an unknown kind ends the link, not hands")
def _(home):
    refused(home, "unknown_frame", ats.Link.pack((4, 200), 0, {}))


@ats.test("a doubled member ends the link, not hands")
def _(home):
    refused(home, "bad_json", ats.Link.pack("control.ping", 0, text=b'{"seq":1,"seq":1}'))


@ats.test("an unknown member ends the link, not hands")
def _(home):
    refused(home, "bad_field", ats.Link.pack("control.ping", 0, {"seq": 1, "more": 1}))


@ats.test("a length over the maximum ends the link, not hands")
def _(home):
    refused(home, "too_big", b"\xff\xff\xff\xff" + ats.Link.pack("control.ping", 0, {"seq": 1})[4:])


ats.main()
