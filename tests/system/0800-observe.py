#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of calls goes, and metrics: with scripted hands, honest and other."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import promtext

HOPS = ("policy_us", "approval_us", "hooks_us", "engine_queue_us", "journal_us", "wire_us", "queue_us",
        "setup_us", "worker_us", "run_us", "total_us")
MOST = 9007199254740991


def up(home, **settings):
    e = engine.Engine(home, **settings)
    s, b = e.session()
    d = e.door(s)
    return e, s, b, d, e.hands(b)


def ask(d, tool, **arguments):
    return d.send("ats/tool.call", {"name": tool, "arguments": arguments})


def timings(d, h, tool="Read", **said):
    i = ask(d, tool, **({"command": "x"} if tool == "Bash" else {"file_path": "f"}))
    h.result(h.call(), b"x", **said)
    r = d.answer(i)["result"]
    return r["call"], r["timings"]


def metrics(d):
    return promtext.read(d.request("ats/metrics")["text"])


@ats.test("an answer says where its time went, and so does inspect, pure or journaled")
def _(home):
    e, s, b, d, h = up(home)
    for tool in ("Read", "Bash"):
        call, t = timings(d, h, tool, queue_us=1, setup_us=1, run_us=2, here_us=4)
        ats.equal(tuple(t), HOPS)
        ats.equal((t["queue_us"], t["setup_us"], t["run_us"], t["worker_us"]), (1, 1, 2, 1))
        ats.check(t["wire_us"] > 0, t)
        ats.equal(t["journal_us"] > 0, tool == "Bash")
        ats.check(sum(t.values()) - t["total_us"] - t["setup_us"] <= t["total_us"], t)
        seen = d.request("ats/inspect", {"id": call})
        ats.equal((seen["tool"], seen["session"], seen["bytes"]), (tool, s, 1))
        for hop in HOPS[:-1]:
            ats.check(seen["timings"][hop] == t[hop] or (tool, hop) == ("Bash", "journal_us"), hop)
    e.restart()
    d = e.door(s)
    seen = d.request("ats/inspect", {"id": call})["timings"]
    ats.equal(seen, t, "of the journal")
    h = e.hands(b)
    i = d.send("tools/call", {"name": "Read", "arguments": {"file_path": "f"}})
    h.result(h.call(), b"x")
    ats.equal(sorted(d.answer(i)["result"]), ["content", "isError"], "MCP says no timings")


@ats.test("what hands says of its time is bounded by what the engine saw")
def _(home):
    e, s, b, d, h = up(home)
    for said in ({"queue_us": MOST}, {"run_us": MOST}, {"here_us": MOST}, {"setup_us": MOST},
                 {"queue_us": MOST, "setup_us": MOST, "run_us": MOST, "here_us": MOST}, {}):
        _, t = timings(d, h, **said)
        ats.check(sum(t.values()) - t["total_us"] - t["setup_us"] <= t["total_us"], (said, t))
        ats.check(t["setup_us"] <= t["queue_us"], (said, t))
    m = metrics(d)["ats_call_hop_seconds"]
    ats.equal(m.value("_count", hop="total"), 6)
    for hop in m.labels("hop"):
        ats.check(m.value("_sum", hop=hop) <= 2 * m.value("_sum", hop="total"), hop)


@ats.test("a duration that no clock has ends the link")
def _(home):
    e = engine.Engine(home)
    cases = [(name, MOST + 1) for name in ("queue_us", "setup_us", "run_us", "here_us")]
    cases += [("setup_us", value) for value in (-1, 1.5, "1", None, [1])]
    for n, (name, value) in enumerate(cases):
        s, b = e.session(workspace="%s/%d" % (home.ws, n))
        d = e.door(s)
        while e.expect("NEED_SANDBOX") != [b]:
            pass		# the one before comes back
        h = e.hands(b, need=False)
        i = ask(d, "Bash", command="x")
        h.result(h.call(), b"x", **{name: value})
        e.expect("KILL_SANDBOX")
        e.exited(b)
        ats.equal(d.answer(i)["result"]["outcome"], "unknown", (name, value))
        d.close()


@ats.test("a call that waited for its sandbox says so")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    i = ask(d, "Read", file_path="f")
    d.request("ats/status")		# it has the call
    began = time.monotonic_ns()
    e.need(b)
    d.request("ats/status")
    waited = time.monotonic_ns() - began
    h = e.hands(b, need=False)
    h.result(h.call(), b"x")
    t = d.answer(i)["result"]["timings"]
    ats.check(t["engine_queue_us"] * 1000 >= waited, (t, waited))


@ats.test("the call that a restarted engine goes on with has no wire")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    e.listen_for(b)
    d = e.door(s)
    h = e.hands(b)
    d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"})
    f = h.call()
    e.restart(alive=[b])
    h = e.accept(b, h.boot, running=[f.call])
    d = e.door(s)
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"})
    d.request("ats/status")
    h.result(f, b"x", run_us=MOST, here_us=MOST)
    t = d.answer(i)["result"]["timings"]
    ats.equal((t["wire_us"], t["run_us"]), (0, 7 * 86400 * 1000000))


@ats.test("metrics are strict text, and count what happened")
def _(home):
    e, s, b, d, h = up(home)
    before = metrics(d)
    ats.equal(before["ats_sandboxes"].value(state="ready"), 1)
    ats.equal(before["ats_sandboxes_ready"].value(level="other"), 1)	# hands says "test"
    for _ in range(3):
        timings(d, h, "Read")
    i = ask(d, "Bash", command="x")
    h.result(h.call(), b"four", is_error=True, code="timeout")
    d.answer(i)
    i = ask(d, "Bash", command="x")
    h.call()
    e.lose(h, b)
    ats.equal(d.answer(i)["result"]["outcome"], "unknown")
    m = metrics(d)
    calls = m["ats_calls_total"]
    ats.equal([calls.value(tool="Read", outcome="ok"), calls.value(tool="Bash", outcome="error"),
               calls.value(tool="Bash", outcome="unknown"),
               calls.value(tool="Grep", outcome="ok")], [3, 1, 1, 0])
    ats.equal(m["ats_call_duration_seconds"].value("_count", tool="Bash"), 2)
    ats.equal(m["ats_journal_commits_total"].value(result="ok"), 4)
    ats.equal(m["ats_sandbox_lost_total"].value(), 1)
    ats.equal(m["ats_call_output_bytes_total"].value(tool="Read"), 3)
    ats.equal(m["ats_metrics_scrapes_total"].value(), 2)
    ats.equal((m["ats_sessions"].value(), m["ats_clients"].value()), (1, 1))
    if shutil.which("promtool"):
        p = subprocess.run(["promtool", "check", "metrics"], input=d.request("ats/metrics")["text"],
                           text=True, capture_output=True, check=False)
        ats.check(p.returncode == 0, p.stdout + p.stderr)


@ats.test("no name of a peer becomes a label")
def _(home):
    e, s, b, d, h = up(home)
    want = {n: f.labels(n2) for n, f in metrics(d).items() for n2 in ("tool", "outcome", "state")}
    e.tell("GATEWAY_TOOL", "gw", "evil", '{"description":"x","inputSchema":{"type":"object"}}', 0)
    e.tell("GATEWAY_TOOLS", "gw", 1, 0, "")
    e.heard()
    for n, name in enumerate(("gw__evil", 'x"} 1\n', "a" * 300, "Nope", "gw__none")):
        i = d.send("ats/tool.call", {"name": name, "arguments": {}})
        if n == 0:
            ask_id = e.expect("GATEWAY_ASK")[0]
            e.tell("GATEWAY_STATE", ask_id, 3, 207, "no", "")
        d.answer(i)
    m = metrics(d)
    ats.equal({n: f.labels(n2) for n, f in m.items() for n2 in ("tool", "outcome", "state")}, want)
    ats.equal(m["ats_calls_total"].value(tool="gateway", outcome="error"), 1)
    ats.equal(m["ats_approvals_total"].value(verdict="refused"), 1)


def read_on(d, h, n=1):
    """One more call, and the events until it has ended."""
    for _ in range(n):
        i = ask(d, "Read", file_path="f")
        h.result(h.call(), b"x")
        d.answer(i)


def events(d, last="call.end"):
    """All that came until an event of that kind."""
    while not any(n["params"]["kind"] == last for n in d.notes):
        d.notes.append(d.message())
    seen = [n["params"] for n in d.notes]
    d.notes = []
    return seen


@ats.test("events are numbered, and begin again where a client was")
def _(home):
    e, s, b, d, h = up(home)
    d.request("ats/events.subscribe")
    read_on(d, h)
    begin, end = events(d)
    ats.equal((begin["kind"], begin["text"], end["kind"], end["text"], begin["call"]),
              ("call.begin", "Read", "call.end", "done", end["call"]))
    ats.equal(end["seq"], begin["seq"] + 1)
    again = e.door()
    again.request("ats/events.subscribe", {"after": begin["seq"]})
    ats.equal(events(again), [end])
    again.request("ats/events.subscribe", {"after": end["seq"]})
    read_on(d, h)
    ats.equal([x["seq"] for x in events(again)], [end["seq"] + 1, end["seq"] + 2])
    for bad in ({"after": -1}, {"after": "1"}, {"after": 1.5}, {"after": 1 << 64}, {"session": 1},
                {"before": 1}):
        try:
            again.request("ats/events.subscribe", bad)
            ats.check(False, bad)
        except ats.RpcError as x:
            ats.equal(x.code, -32602, bad)


@ats.test("of events that are not kept their number is told; of another engine's, that they are")
def _(home):
    e, s, b, d, h = up(home)
    d.request("ats/events.subscribe")
    read_on(d, h)
    first = events(d)[0]["seq"]
    other = e.door(s)
    for _ in range(8):
        ids = [ask(other, "Read", file_path="f") for _ in range(100)]
        for _ in ids:
            h.result(h.call(), b"x")
        for i in ids:
            other.answer(i)
    newest = other.request("ats/events.subscribe", {"after": (1 << 64) - 2})
    ats.equal(newest, {})
    again = e.door()
    again.request("ats/events.subscribe", {"after": first})
    lost, *kept = [again.message()["params"] for _ in range(1025)]
    ats.equal((lost["kind"], lost["text"]), ("lost", "%d events" % (1 + 1600 - 1024)))
    ats.equal([x["seq"] for x in kept], list(range(lost["seq"] + 1, lost["seq"] + 1025)))
    e.restart()
    again = e.door()
    again.request("ats/events.subscribe", {"after": kept[-1]["seq"]})
    lost = again.message()["params"]
    ats.equal(lost["kind"], "lost")
    ats.contains(lost["text"], "the engine before this one")
    ats.check(lost["seq"] > kept[-1]["seq"])


@ats.test("a filter shows a session, its sandbox, and nobody else's")
def _(home):
    e, s, b, d, h = up(home)
    s2, b2 = e.session(key="second")			# of the same sandbox
    s3, b3 = e.session(key="third", workspace=home.ws + "/3")
    f = e.door()
    f.request("ats/events.subscribe", {"session": s})
    d2, d3 = e.door(s2), e.door(s3)
    h3 = e.hands(b3)
    read_on(d2, h)
    read_on(d3, h3)
    read_on(d, h)
    e.lose(h, b)
    seen = events(f, "sandbox.lost")
    ats.equal([x["kind"] for x in seen], ["call.begin", "call.end", "sandbox.lost"])
    ats.equal([x.get("session") for x in seen], [s, s, None])
    try:
        f.request("ats/events.subscribe", {"session": "s-000000000000"})
        ats.check(False)
    except ats.RpcError as x:
        ats.equal(x.data["code"], "unknown_id")


@ats.test("sessions, refusals and gateways are events, too")
def _(home):
    e = engine.Engine(home, rules=[("deny", "Bash(rm:*)")])
    d = e.door()
    d.request("ats/events.subscribe")
    s, b = e.session()
    d.request("ats/session.attach", {"session": s})
    h = e.hands(b)
    d.answer(ask(d, "Bash", command="rm x"))
    e.tell("GATEWAY_TOOL", "gw", "t", '{"description":"x","inputSchema":{"type":"object"}}', 0)
    e.tell("GATEWAY_TOOLS", "gw", 1, 0, "")
    e.tell("GATEWAY_TOOLS", "bad", 0, 207, "it does\nnot start")
    e.heard()
    i = d.send("ats/tool.call", {"name": "gw__t", "arguments": {}})
    call = e.expect("GATEWAY_ASK")[0]
    e.tell("GATEWAY_STATE", call, 1, 0, "", "a-0123456789ab")
    e.tell("GATEWAY_STATE", call, 3, 207, "no", "")
    d.answer(i)
    e.tell("SESSION_CLOSED", s)
    seen = [(x["kind"], x.get("text")) for x in events(d, "session.closed")]
    ats.equal(seen, [("session.open", home.ws), ("sandbox.ready", None), ("call.begin", "Bash"),
                     ("call.refused", "denied"), ("call.end", "not_started"),
                     ("gateway.tools", "gw"), ("gateway.failed", "bad: it does\nnot start"),
                     ("call.begin", "gw__t"), ("call.waiting", "a-0123456789ab"), ("call.refused", "denied"),
                     ("call.end", "not_started"), ("session.closed", None)])


@ats.test("a client that does not read its events hears how many it missed; the engine does not grow")
def _(home):
    e, s, b, d, h = up(home)
    slow = e.door()
    slow.request("ats/events.subscribe")
    for _ in range(60):
        ids = [ask(d, "Read", file_path="f") for _ in range(200)]
        for _ in ids:
            h.result(h.call(), b"x")
        for i in ids:
            d.answer(i)
    m = metrics(d)
    lost = int(m["ats_events_lost_total"].value())
    ats.check(lost > 0, "nothing was lost of %d" % m["ats_events_total"].value())
    e.check_memory(100000)
    seen, told = 0, 0
    while seen + told < 24000:
        x = slow.message()["params"]
        if x["kind"] == "lost":
            told += int(x["text"].split()[0])
        else:
            seen += 1
    ats.equal((seen + told, told), (24000, lost))


@ats.test("metrics are for the user whose brain it is")
def _(home):
    if os.getuid() != 0:
        ats.skip("needs root")
    e, s, b, d, h = up(home)
    for path in (home.dir, home.run, e.runtime):
        os.chmod(path, 0o755)
    os.chmod(e.door_path, 0o666)

    def other():
        door = ats.Door(e.door_path)
        try:
            return door.request("ats/metrics")
        except ats.RpcError as err:
            return err.data["code"]

    ats.equal(engine.as_user(65534, other), "not_permitted")


ats.main()
