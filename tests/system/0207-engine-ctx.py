#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctx of an agent runtime at the door: taken with a new call, told with its answer."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine

HASH = "ab" * 32


def ask(d, ctx, tool="Bash", arguments=None, **more):
    params = {"name": tool, "arguments": arguments or {"command": "x"}, **more}
    return d.send("ats/tool.call", params if ctx is None else {**params, "ctx": ctx})


def read(home, name):
    return {"path": home.ws + "/" + name, "size": 1, "mtime_ns": 2, "sha256": HASH}


@ats.test("cwd and what was read come from the runtime, and go back to it")
def _(home):
    e, s, b, d, h = engine.up(home)
    sub = home.ws + "/sub"
    i = ask(d, {"cwd": sub, "reads": [read(home, "sub/f")]}, "Edit",
            {"file_path": "f", "old_string": "a", "new_string": "b"})
    f = h.call()
    ats.equal(f.json["ctx"], {"cwd": sub, "reads": [read(home, "sub/f")]})
    new = {**read(home, "sub/f"), "size": 7}
    h.result(f, "edited", ctx_delta={"reads": [new]})
    ats.equal(d.answer(i)["result"]["ctx_delta"], {"cwd": sub, "reads": [new]})
    i = ask(d, {"cwd": home.ws})
    f = h.call()
    ats.equal(f.json["ctx"]["cwd"], home.ws)
    h.result(f, "gone", ctx_delta={"cwd": sub, "shell_started": "bash_1"})
    ats.equal(d.answer(i)["result"]["ctx_delta"], {"cwd": sub, "shells": ["bash_1"]})
    i = ask(d, None)
    f = h.call()
    ats.equal(f.json["ctx"]["cwd"], sub)
    h.result(f, "there")
    ats.equal("ctx_delta" in d.answer(i)["result"], False)


@ats.test("a call that is asked for again does not move the session back")
def _(home):
    e, s, b, d, h = engine.up(home)
    sub = home.ws + "/sub"
    i = ask(d, {"cwd": home.ws}, call_id="once")
    h.result(h.call(), "gone", ctx_delta={"cwd": sub})
    ats.equal(d.answer(i)["result"]["ctx_delta"]["cwd"], sub)
    for _ in range(2):
        again = d.answer(ask(d, {"cwd": home.ws}, call_id="once"))["result"]
        ats.equal((again["outcome"], again["ctx_delta"]), ("done", {"cwd": sub, "shells": []}))
        h.close()
        e.restart()
        d = e.door(s)
    ats.equal(d.request("ats/session.show", {"id": s})["cwd"], sub)


@ats.test("a check takes it, and says nothing of it")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = d.send("ats/tool.validate", {
        "name": "Edit", "arguments": {"file_path": "f", "old_string": "a", "new_string": "b"},
        "ctx": {"cwd": home.ws, "reads": [read(home, "f")]}})
    f = h.call()
    ats.equal(f.json["ctx"]["reads"], [read(home, "f")])
    h.result(f, "would")
    ats.equal(d.answer(i)["result"], {"valid": True, "text": "would"})


@ats.test("what is wrong in it refuses the call, and nothing of it is taken")
def _(home):
    e, s, b, d, h = engine.up(home)
    good = read(home, "f")
    for ctx, why in (
            ({"cwd": "/etc"}, "ctx.cwd"), ({"cwd": home.ws + "/../x"}, "ctx.cwd"),
            ({"cwd": home.ws, "env": ["A=b"]}, "ctx.env"), ({}, "cwd"),
            ({"cwd": home.ws, "plan": "p.md"}, "plan"), ("x", "ctx"), ([], "ctx"),
            ({"cwd": home.ws, "reads": [good, {**good, "path": "f"}]}, "ctx.reads"),
            ({"cwd": home.ws, "reads": [{**good, "size": 2 ** 63}]}, "ctx.reads"),
            ({"cwd": home.ws, "reads": [good] * 9}, "more than 8"),
            ({"cwd": home.ws, "reads": {}}, "ctx.reads")):
        r = d.answer(ask(d, ctx))
        ats.equal(r["error"]["code"], -32602, ctx)
        ats.contains(r["error"]["message"], why)
    i = ask(d, None, "Read", {"file_path": "f"})
    f = h.call()
    ats.equal(f.json["ctx"], {"cwd": home.ws})
    h.result(f, "there")
    d.answer(i)


ats.main()
