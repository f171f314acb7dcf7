#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thousands of calls from several clients while processes are killed and stopped, the link is cut,
stalled and slowed, and the disk is full: each is answered, and the files say that it was done as
often as its answer says. docs/TESTING.md says how to repeat a run."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import chaos
import impair_tun
import kills
import oracle

LONG = "ATS_CHAOS" in os.environ
COUNT = int(os.environ.get("ATS_CHAOS", "200"))
EVERY = int(os.environ.get("ATS_CHAOS_EVERY", "25"))
# (link, whether only it suffers) of make check; all of them otherwise.
QUICK = (("unix", False), ("wss", False), ("listen:tls, packets lost", True))


def say(line):
    print("# " + line)
    sys.stdout.flush()


def storm(home, link, only_link=False):
    count, every = COUNT, EVERY
    if link != "unix" or only_link:     # a tenth of them, where there are thousands
        count, every = (COUNT // 10, EVERY) if COUNT > 300 else (min(COUNT, 60), min(EVERY, 8))
    seed = kills.seed_of()
    try:
        w = chaos.World(home, link, seed, only_link)
    except impair_tun.Unavailable as e:
        ats.skip(str(e))
    o = oracle.Oracle(home, seed, count, say if COUNT > 300 else None)
    try:
        o.run(w.plan(count, every))
        ats.until(lambda: not w.naps(), "commands of unknown outcome have ended")
    finally:
        o.close()
        w.close()
    kills.no_crash(home)
    o.verify()
    print("#: chaos over %s%s: %s; %d events" % (
        link, ", the link alone" if only_link else "", o.summary(), len(w.fired)))
    say("events: " + "; ".join(w.fired))
    for why, n in sorted(o.reasons().items()):
        say("%d %s" % (n, why.replace("\n", " ")))
    if o.figures["done"] < count / 2:
        o.wrong.append("most of them were not done")
    if only_link:
        o.wrong += ["%s (%s) is %s: %s" % (c.id, c.kind, c.state, c.text) for c in o.calls
                    if c.state in ("unknown", "failed")]
    ats.check(not o.wrong, "\n".join(o.wrong[:40]))


@ats.test("the oracle sees a call that was done twice, one that was not, and other bytes")
def _(home):
    o = oracle.Oracle(home, 1, 80)
    try:
        o.run()
    finally:
        o.close()
    o.verify()
    ats.equal((o.figures["done"], o.wrong), (80, []))

    def spoil(kind, change):
        """Changes what a call of that kind left; the figures then."""
        call = [c for c in o.calls if c.kind == kind][-1]
        c = call.client
        name = {"bash": "log/%d" % c.number, "write": "new/" + call.mark}.get(kind) or \
            c.path(kind, call.file)
        old = home.read(name)
        home.write(name, change(old, call.mark.encode() + b"\n"))
        o.wrong = []
        o.verify()
        ats.check(o.wrong, "%s: not noticed" % kind)
        home.write(name, old)
        return {k for k, n in o.figures.items() if n and k != "done"}
    ats.equal(spoil("bash", lambda old, mark: old + mark), {"twice"})
    ats.equal(spoil("bash", lambda old, mark: old.replace(mark, b"")), {"undone"})
    ats.equal(spoil("bash", lambda old, mark: old + b"stranger\n"), {"wrong_bytes"})
    ats.equal(spoil("edit", lambda old, mark: old.replace(mark, mark * 2)), {"twice"})
    ats.equal(spoil("edit", lambda old, mark: old[:-4]), {"wrong_bytes"})
    ats.equal(spoil("write", lambda old, mark: old[:-1]), {"wrong_bytes"})
    ats.equal(spoil("over", lambda old, mark: b"head\nend\n"), {"wrong_bytes"})
    call = [c for c in o.calls if c.kind == "bash"][-1]
    call.state = "not_started"
    o.wrong = []
    o.verify()
    ats.equal(o.figures["twice"], 1, "done, though it says that it was not started")


@ats.test("a stall that strikes late ends as one that strikes at once")
def _(home):
    w = chaos.World(home, "unix", 1)
    try:
        mcp = home.mcp()
        mcp.initialize()
        w.cut_at("down", "call.tool", "before", "stall")
        time.sleep(chaos.LONG * w.beat * 1.5)   # it is late: longer than a stall lasts
        ats.equal(mcp.text("Bash", command="echo done"), "done")
        ats.equal(len(w.proxy.struck), 1)
    finally:
        w.close()


for name in chaos.LINKS:
    if LONG or (name, False) in QUICK:
        ats.test("calls are done as often as is said, over " + name)(
            lambda home, name=name: storm(home, name))
    if LONG or (name, True) in QUICK:
        ats.test("no call is unknown where only the link suffers, over " + name)(
            lambda home, name=name: storm(home, name, True))


ats.main()
