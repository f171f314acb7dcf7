#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats/tool.validate in the engine: verdicts, no journal, retries, cancel, limits, liars."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine

PURE = 1 << 63
EDIT = {"file_path": "a", "old_string": "x", "new_string": "y"}


def ask(d, tool="Edit", arguments=None, **more):
    return d.send("ats/tool.validate", dict({"name": tool, "arguments": arguments or EDIT}, **more))


def code(answer):
    return answer["error"]["data"]["code"]


def read(d, h, name="a"):
    """Read, so that the session knows the file."""
    i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": name}})
    f = h.call()
    path = os.path.join(f.json["ctx"]["cwd"], name)
    h.result(f, "1\tx", ctx_delta={"reads": [
        {"path": path, "size": 1, "mtime_ns": 1, "sha256": "0" * 64}]})
    d.answer(i)
    return path


@ats.test("the frame, and each verdict")
def _(home):
    e, s, b, d, h = engine.up(home)
    path = read(d, h)
    i = ask(d)
    f = h.call()
    ats.equal(f.name, "call.validate")
    ats.check(f.call & PURE, "the id of a call that is journaled")
    ats.equal(sorted(f.json), ["ctx", "deadline_ms", "input", "name", "session"])
    ats.equal((f.json["name"], f.json["input"], f.json["session"]), ("Edit", EDIT, s))
    ats.equal([r["path"] for r in f.json["ctx"]["reads"]], [path])
    h.result(f, b"Would edit \xff\x00", output={"changes": 1})
    ats.equal(d.answer(i)["result"], {"valid": True, "text": "Would edit \ufffd\x00",
                                      "output": {"changes": 1}})
    for members, want in (({}, {}), ({"code": "not_read"}, {"code": "not_read"}),
                          ({"code": "made_up"}, None), ({"output": {}}, {"output": {}})):
        i = ask(d)
        h.result(h.call(), "no", is_error=True, **members)
        r = d.answer(i)["result"]
        ats.equal((r["valid"], r["text"]), (False, "no"))
        if want is not None:
            ats.equal(r, dict({"valid": False, "text": "no"}, **want))
    i = ask(d)
    h.result(h.call(), "it ended", is_error=True, outcome="not_started", code="system")
    r = d.answer(i)
    ats.equal((code(r), r["error"]["message"]), ("system", "it ended"))


@ats.test("a command's timeout is not its check's, the caller's is")
def _(home):
    e, s, b, d, h = engine.up(home, grace_ms=50, cancel_ms=50)
    ask(d, "Bash", {"command": "x", "timeout": 1})
    ats.equal(h.call().json["deadline_ms"], 120000)
    i = ask(d, timeout_ms=20)
    f = h.call()
    ats.equal(f.json["deadline_ms"], 20)
    ats.equal(h.expect("control.cancel", call=f.call).json, {"why": "timeout"})
    ats.equal(code(d.answer(i)), "timeout")


@ats.test("cancelled: queued, sent, and when hands is silent")
def _(home):
    e = engine.Engine(home, cancel_ms=100)
    s, b = e.session()
    d = e.door(s)
    i = ask(d, call_id="q")
    e.need(b)
    d.request("ats/call.cancel", {"call_id": "q"})
    ats.equal(code(d.answer(i)), "cancelled")
    h = e.hands(b, need=False)
    for answers in (True, False):
        i = ask(d, call_id="s%d" % answers)
        f = h.call()
        d.request("ats/call.cancel", {"call_id": "s%d" % answers})
        h.expect("control.cancel", call=f.call)
        if answers:
            h.result(f, "was cancelled", outcome="not_started", is_error=True, code="cancelled")
        ats.equal(code(d.answer(i)), "cancelled")
    i = ask(d)
    f = h.call()
    d.notify("notifications/cancelled", {"requestId": i})
    h.expect("control.cancel", call=f.call)


@ats.test("lost while it runs: sent again, whatever the tool, up to the limit")
def _(home):
    e, s, b, d, h = engine.up(home, retry_limit=2)
    for tool, arguments in (("Edit", EDIT), ("Bash", {"command": "x"}),
                            ("KillShell", {"shell_id": "bash_1"})):
        i = ask(d, tool, arguments)
        for _ in range(2):
            ats.equal(h.call().json["name"], tool)
            e.lose(h, b)
            h = e.hands(b)
        h.result(h.call(), "fine")
        ats.equal(d.answer(i)["result"]["valid"], True)
    i = ask(d)
    for _ in range(3):
        h.call()
        e.lose(h, b)
        h = e.hands(b, need=True) if _ < 2 else None
    ats.equal(code(d.answer(i)), "sandbox_lost")


@ats.test("the engine dies: nothing is journaled, asked again it is made again")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, call_id="v")
    h.result(h.call(), "first")
    ats.equal(d.answer(i)["result"]["text"], "first")
    # The same id: the same answer, as long as the engine lives.
    ats.equal(d.answer(ask(d, call_id="v"))["result"]["text"], "first")
    ask(d, call_id="w")
    h.call()
    e.restart()
    d = e.door(s)
    for call_id in ("v", "w"):
        i = ask(d, call_id=call_id)
        if call_id == "v":
            h = e.hands(b)
        f = h.call()
        ats.equal(f.name, "call.validate")
        h.result(f, "again")
        ats.equal(d.answer(i)["result"]["text"], "again")


@ats.test("the call that follows may have its id; other input under one id is refused")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, call_id="k")
    h.result(h.call(), "fine")
    ats.equal(d.answer(i)["result"]["valid"], True)
    i = d.send("ats/tool.call", {"name": "Edit", "arguments": EDIT, "call_id": "k"})
    f = h.call()
    ats.equal((f.name, f.json["keep"]), ("call.tool", True))
    h.result(f, "edited")
    ats.equal(d.answer(i)["result"]["outcome"], "done")
    ats.equal(code(d.answer(ask(d, arguments=dict(EDIT, new_string="z"), call_id="k"))),
              "id_reused")


@ats.test("it waits for the edit before it, and sees what that made of the file")
def _(home):
    e, s, b, d, h = engine.up(home)
    path = read(d, h)
    edit = d.send("ats/tool.call", {"name": "Edit", "arguments": EDIT})
    f = h.call()
    check = ask(d)
    other = ask(d, arguments=dict(EDIT, file_path="other"))
    h.result(h.call(), "of the other")
    ats.equal(d.answer(other)["result"]["text"], "of the other")
    h.result(f, "edited", ctx_delta={"reads": [
        {"path": path, "size": 2, "mtime_ns": 2, "sha256": "1" * 64}]})
    d.answer(edit)
    f = h.call()
    ats.equal((f.name, f.json["ctx"]["reads"][0]["sha256"]), ("call.validate", "1" * 64))
    h.result(f, "fine")
    ats.equal(d.answer(check)["result"]["valid"], True)


@ats.test("hands that gives it a ctx_delta is ended, and nothing is learnt from that")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, "Read", {"file_path": "a"})
    f = h.call()
    h.result(f, "x", ctx_delta={"reads": [
        {"path": os.path.join(f.json["ctx"]["cwd"], "a"), "size": 1, "mtime_ns": 1,
         "sha256": "0" * 64}]})
    e.expect("KILL_SANDBOX")
    e.exited(b)
    h = e.hands(b)
    f = h.call()        # it is pure: sent again
    ats.missing(f.json["ctx"], "reads", "read-state")
    h.result(f, "fine")
    ats.equal(d.answer(i)["result"]["valid"], True)


@ats.test("what hands may say, and what ends the link")
def _(home):
    e, s, b, d, h = engine.up(home)
    for members in ({"outcome": "unknown"}, {"outcome": "done", "blocks": [{"type": "text"}]},
                    {"outcome": "done", "valid": True}, {"outcome": 1}):
        i = ask(d)
        f = h.call()
        h.send("result", f.call, members, b"x")
        e.expect("KILL_SANDBOX")
        e.exited(b)
        h = e.hands(b)
        h.result(h.call(), "fine")
        ats.equal(d.answer(i)["result"]["valid"], True)
    i = ask(d)          # an image is no text, but harmless
    h.result(h.call(), b"\x89PNG", blocks=[{"type": "image", "mime": "image/png", "len": 4}])
    ats.equal(d.answer(i)["result"], {"valid": True, "text": "\ufffdPNG"})


@ats.test("parameters that are refused, and whose session it is")
def _(home):
    e, s, b, d, h = engine.up(home)
    for params in ({}, {"name": 1}, {"name": "Edit", "arguments": []}, {"name": "x" * 65},
                   {"name": "Edit", "arguments": "{}"}, {"name": "Edit", "surprise": 1},
                   {"name": "Edit", "call_id": 7}, {"name": "Edit", "timeout_ms": -1},
                   {"name": "Edit", "timeout_ms": "1"}, {"name": "Edit", "session": 1}):
        try:
            d.request("ats/tool.validate", params)
        except ats.RpcError as x:
            ats.equal(x.code, -32602, params)
        else:
            raise ats.Failure("taken: %r" % params)
    for params, want in (({"name": "Nope"}, "unknown_tool"),
                         ({"name": "Edit", "session": "s-000000000000"}, "unknown_id")):
        ats.equal(code(d.answer(d.send("ats/tool.validate", params))), want)
    d2 = e.door()       # not attached
    ats.equal(code(d2.answer(ask(d2))), "out_of_state")
    i = ask(d2, session=s)
    h.result(h.call(), "fine")
    ats.equal(d2.answer(i)["result"]["valid"], True)


@ats.test("in a batch, beside calls, and over the limit of calls")
def _(home):
    e = engine.Engine(home, client_calls_max=4)
    s, b = e.session()
    d = e.door(s)
    d.initialize("2025-03-26")
    line = [{"jsonrpc": "2.0", "id": n, "method": m, "params": {"name": "Edit", "arguments": EDIT}}
            for n, m in ((61, "ats/tool.validate"), (62, "ats/tool.validate"))]
    line.append({"jsonrpc": "2.0", "id": 63, "method": "ats/tool.validate", "params": {}})
    d._send(json.dumps(line).encode() + b"\n", ())
    h = e.hands(b)
    h.result(h.call(), "one")
    h.result(h.call(), "two", outcome="not_started", code="system")
    got = {m["id"]: m for m in d.message()}
    ats.equal((got[61]["result"]["text"], code(got[62]), got[63]["error"]["code"]),
              ("one", "system", -32602))
    ids = [ask(d) for _ in range(5)]
    ats.equal(code(d.answer(ids[4])), "table_full")
    for i in ids[:4]:
        h.result(h.call(), "fine")
    ats.equal([d.answer(i)["result"]["valid"] for i in ids[:4]], [True] * 4)


@ats.test("a client that goes takes its checks with it")
def _(home):
    e, s, b, d, h = engine.up(home)
    d2 = e.door(s)
    ask(d2, "Bash", {"command": "x"})
    f = h.call()
    d2.close()
    ats.equal(h.expect("control.cancel", call=f.call).call, f.call)


ats.main()
