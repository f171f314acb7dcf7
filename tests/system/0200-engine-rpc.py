#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's door: JSON-RPC, MCP, what is malformed, who owns what."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine


def raw(door, line):
    """Sends bytes as a line; the answer."""
    door._send(line + b"\n", ())
    return door.message()


def code_of(door, line):
    return raw(door, line)["error"]["code"]


@ats.test("initialize agrees on each revision and offers the newest to others")
def _(home):
    e = engine.Engine(home)
    for asked, got in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"),
                       ("2025-03-26", "2025-03-26"), ("2024-11-05", "2024-11-05"),
                       ("2026-07-28", "2025-11-25"), ("x", "2025-11-25")):
        d = e.door()
        r = d.initialize(asked)
        ats.equal(r["protocolVersion"], got)
        ats.equal(r["capabilities"], {"tools": {"listChanged": True}})
        ats.equal(r["serverInfo"]["name"], "agent-tool-server")
        ats.equal(d.request("ping"), {})


def anon_kib(pid):
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
        return int(next(x for x in f if x.startswith("Anonymous:")).split()[1])


@ats.test("clients that wait for nothing hold no buffers, whatever they have asked")
def _(home):
    if ats.SANITIZED:
        ats.skip("what is freed is kept")
    e = engine.Engine(home)

    def ask(d):
        d.initialize("2025-11-25")
        d.request("tools/list")
        d.request("ping", {"x": "x" * 60000})
    for _ in range(3):
        ask(e.door())
    before = anon_kib(e.proc.pid)
    doors = [e.door() for _ in range(100)]
    for d in doors:
        ask(d)
    ats.small(anon_kib(e.proc.pid) - before, 2000, "KiB of 100 clients")
    for d in doors:                     # what some of them are in the middle of is theirs
        d._send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', ())
    for n, d in enumerate(doors):
        ats.equal(raw(d, b'%d"}}' % n)["result"], {})


@ats.test("tools/list shows each row with schema, hints and result size")
def _(home):
    e = engine.Engine(home)
    tools = {t["name"]: t for t in e.door().request("tools/list")["tools"]}
    rows = [a for m, a in ats.def_rows("proto/tools.def") if m == "TOOL"]
    ats.equal(list(tools), [ats.def_string(a[1]) for a in rows])
    for t in tools.values():
        ats.equal(t["inputSchema"]["type"], "object")
        ats.equal(t["inputSchema"].get("additionalProperties"), False)
        ats.missing(t, "outputSchema")
    ats.equal(tools["Read"]["annotations"]["readOnlyHint"], True)
    ats.equal(tools["Bash"]["annotations"]["readOnlyHint"], False)
    ats.equal(tools["Bash"]["annotations"]["destructiveHint"], True)
    ats.equal(tools["Grep"]["_meta"]["anthropic/maxResultSizeChars"], 500000)
    ats.missing(tools["Bash"]["_meta"], "anthropic/maxResultSizeChars")
    ats.missing(tools["KillShell"], "_meta")
    ats.equal({n for n, t in tools.items() if t.get("_meta", {}).get("anthropic/alwaysLoad")},
              {"Bash", "Read", "Write", "Edit", "Glob", "Grep"})


@ats.test("methods and parameters that are not ours are refused with their codes")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d = e.door(s)
    for line, want in (
            (b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
            (b'{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
            (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
            (b'{"id":1,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Nope"}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Read",'
             b'"arguments":[]}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"ats/status","params":{"x":1}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"ats/exec","params":{"argv":[],'
             b'"call_id":"a"}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"ats/exec","params":{"argv":["a\\u0000b"],'
             b'"call_id":"a"}}', -32602)):
        ats.equal(code_of(d, line), want, line)
    # Answers to nothing, unknown notifications and empty lines are passed over.
    d._send(b'{"jsonrpc":"2.0","id":9,"result":{}}\n\n \r\n'
            b'{"jsonrpc":"2.0","method":"notifications/what"}\n', ())
    ats.equal(d.request("ping", id="x"), {})


@ats.test("a line that is not strict JSON is -32700 and costs nothing else")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    for line in (b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}',
                 b"[" * 100000, b'{"a":' * 40 + b"1" + b"}" * 40,
                 b'{"jsonrpc":"2.0","id":1,"method":"pi\xffng"}',
                 b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
                 b'{"jsonrpc":"2.0","id":1,"method":"a\x01"}',
                 b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', b"// c", b"\0"):
        m = raw(d, line)
        ats.equal((m["error"]["code"], m["id"]), (-32700, None), line[:40])
    for line in (b"1", b'"x"', b"null"):
        ats.equal(code_of(d, line), -32600, line)
    ats.equal(d.request("ping"), {})


@ats.test("a line over 16 MiB is refused and skipped, the connection lives")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    piece = b"x" * (1 << 20)
    for _ in range(17):
        d._send(piece, ())
    d._send(b'\n{"jsonrpc":"2.0","id":5,"method":"ping"}\n', ())
    ats.equal(d.message()["error"]["code"], -32600)
    ats.equal(d.message(), {"jsonrpc": "2.0", "id": 5, "result": {}})
    e.check_memory(40000)


@ats.test("arrays are served for 2025-03-26 only")
def _(home):
    e = engine.Engine(home)
    batch = json.dumps([{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in (71, 72)]).encode()
    d = e.door()
    ats.equal(code_of(d, batch), -32600)
    d.initialize("2025-11-25")
    ats.equal(code_of(d, batch), -32600)
    d = e.door()
    d.initialize("2025-03-26")
    d._send(batch + b"\n", ())
    ats.equal([m["id"] for m in d.message()], [71, 72])
    mixed = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 7,
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": "x", "method": "no/such"}]
    d._send(json.dumps(mixed).encode() + b"\n", ())
    ats.equal([(m["id"], m.get("error", {}).get("code")) for m in d.message()],
              [(1, None), (None, -32600), ("x", -32601)])
    d._send(json.dumps(mixed[2:3]).encode() + b"\n", ())
    ats.equal(d.request("ping"), {})
    ats.equal(code_of(d, b"[]"), -32600)
    ats.equal([m["error"]["code"] for m in raw(d, b"[1]")], [-32600])


@ats.test("requests may be cut and joined in any way")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    for i in range(len(line)):
        d._send(line[i:i + 1], ())
    ats.equal(d.message()["id"], 1)
    d._send(line * 500, ())
    for _ in range(500):
        ats.equal(d.message()["result"], {})


@ats.test("a client that closes its sending half still gets its answers")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    h = e.hands(b)
    i = d.send("tools/call", {"name": "Read", "arguments": {"file_path": "a"}})
    d.sock.shutdown(1)
    h.result(h.call(), "late")
    ats.equal(d.answer(i)["result"]["content"][0]["text"], "late")
    ats.equal(d.message(), None)


@ats.test("calls need a session, and an unknown one is unknown_id")
def _(home):
    e = engine.Engine(home)
    e.session()
    d = e.door()
    for method, params, code in (
            ("tools/call", {"name": "Read"}, "out_of_state"),
            ("ats/tool.call", {"name": "Read", "session": "s-000000000000"}, "unknown_id"),
            ("ats/tool.call", {"name": "Nope"}, "unknown_tool"),
            ("ats/session.attach", {"session": "s-000000000000"}, "unknown_id"),
            ("ats/session.show", {"id": "s-000000000000"}, "unknown_id"),
            ("ats/inspect", {"id": "c-1"}, "unknown_id"),
            ("ats/inspect", {"id": "c-"}, "unknown_id"),
            ("ats/sandbox.kill", {"id": "b-000000000000"}, "unknown_id"),
            ("ats/call.cancel", {"call_id": "x"}, "out_of_state")):
        try:
            d.request(method, params)
            ats.check(False, method)
        except ats.RpcError as x:
            ats.equal((x.code, x.data.get("code")), (-32000, code), method)


@ats.test("another uid sees nothing of it")
def _(home):
    if os.getuid() != 0:
        ats.skip("needs root")
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    h = e.hands(b)
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"})
    f = h.call()
    os.chmod(home.dir, 0o755)
    for p in (home.run, e.runtime):
        os.chmod(p, 0o755)
    os.chmod(e.door_path, 0o666)

    def other():
        o = ats.Door(e.door_path)
        out = [o.request("ats/session.list"), o.request("ats/sandbox.list"),
               o.request("ats/status")["calls"]]
        for method, params in (("ats/session.attach", {"session": s}),
                               ("ats/session.show", {"id": s}), ("ats/inspect", {"id": s}),
                               ("ats/inspect", {"id": b}), ("ats/inspect", {"id": "c-%d" % f.call}),
                               ("ats/sandbox.kill", {"id": b}), ("ats/sandbox.logs", {"id": b}),
                               ("ats/tool.call", {"name": "Read", "session": s})):
            try:
                o.request(method, params)
                out.append(method)
            except ats.RpcError as x:
                out.append(x.data["code"])
        return out

    ats.equal(engine.as_user(65534, other),
              str([{"sessions": []}, {"sandboxes": []}, []] + ["unknown_id"] * 8))
    h.result(f, "mine")
    ats.equal(d.answer(i)["result"]["content"][0]["text"], "mine")


@ats.test("status, session, sandbox and call can be looked at")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    h = e.hands(b)
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"})
    f = h.call()
    st = d.request("ats/status")
    ats.equal([c["state"] for c in st["calls"]], ["running"])
    ats.equal(st["sandboxes"][0]["state"], "ready")
    ats.equal(d.request("ats/session.show", {"id": s})["workspace"], home.ws)
    ats.equal(d.request("ats/inspect", {"id": b})["confinement"], {"level": "test"})
    ats.equal(d.request("ats/inspect", {"id": "c-%d" % f.call})["tool"], "Bash")
    h.result(f, "ok", exit_kind="exit", exit_code=0)
    d.answer(i)
    ats.equal(d.request("ats/inspect", {"id": "c-%d" % f.call})["outcome"], "done")
    os.makedirs(os.path.join(e.state, "sandbox", b), exist_ok=True)
    with open(os.path.join(e.state, "sandbox", b, "hands.log"), "wb") as log:
        log.write(b"x" * 70000 + b"the \xff end\n")
    text = d.request("ats/sandbox.logs", {"id": b})["text"]
    ats.check(text.endswith("the \ufffd end\n") and len(text) <= 65536)


@ats.test("events tell what happens to one's own things")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    d.request("ats/events.subscribe", {})
    h = e.hands(b)
    i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "x"}})
    h.result(h.call(), "ok")
    d.answer(i)
    e.lose(h, b)
    while not any(n["params"]["kind"] == "sandbox.lost" for n in d.notes):
        d.notes.append(d.message())
    ats.equal([n["params"]["kind"] for n in d.notes], ["sandbox.ready", "call.begin",
                                                         "call.end", "sandbox.lost"])
    ats.equal(d.notes[0]["params"]["sandbox"], b)


@ats.test("the vault hears when the engine is idle and busy")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    h = e.hands(b)
    i = d.send("tools/call", {"name": "Bash", "arguments": {"command": "sleep 1 &",
                                                           "run_in_background": True}})
    h.result(h.call(), "bash_1", ctx_delta={"shell_started": "bash_1"})
    d.answer(i)
    d.close()
    d = e.door(s)
    i = d.send("tools/call", {"name": "KillShell", "arguments": {"shell_id": "bash_1"}})
    h.result(h.call(), "killed", ctx_delta={"shell_ended": "bash_1"})
    d.answer(i)
    d.close()
    ats.equal(e.expect("IDLE"), [0])    # its first client: the vault took it for idle
    ats.equal(e.expect("IDLE"), [1])
    e.door()
    ats.equal(e.expect("IDLE"), [0])


@ats.test("without the vault, or told to, the engine ends by itself")
def _(home):
    e = engine.Engine(home)
    e.vault.close()
    ats.equal(e.proc.wait(10), 0)
    e.start()
    e.tell("QUIT")
    ats.equal(e.proc.wait(10), 0)


ats.main()
