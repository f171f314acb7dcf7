#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A front that takes the place of another is confined as that one was, at every level, and what
runs goes on."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bare
from box import Box, OTHER_UID, ats
import upgrades

LEVELS = (("namespaces", None, ()), ("namespaces", OTHER_UID, ()), *bare.KINDS)
SAME = ("Uid", "Gid", "Groups", "NoNewPrivs", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
        "Seccomp", "NSpid")


def fronts(box):
    return [p for p in sorted(ats.descendants(box.proc.pid)) if ats.comm(p) == "ats-front"]


def seen(pid):
    """What the kernel says of a process."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    names = {n: os.readlink("/proc/%d/ns/%s" % (pid, n))
             for n in ("user", "mnt", "pid", "net", "ipc", "uts")}
    with open("/proc/%d/limits" % pid, encoding="ascii") as f:
        limits = f.read()
    return status, names, limits


def begin(box):
    """A Bash whose result is kept and that waits for the fifo go."""
    go = os.path.join(box.ws, "go")
    os.mkfifo(go)
    os.chmod(go, 0o666)
    box.calls += 1
    box.link.send("call.tool", box.calls, {
        "name": "Bash", "input": {"command": "echo before; touch began; cat go; echo after"},
        "ctx": {"cwd": box.ws}, "deadline_ms": 30000, "session": "s-000000000001",
        "keep": True})
    ats.until(lambda: os.path.exists(os.path.join(box.ws, "began")), "began")
    return box.calls, go


for level, uid, prefix in LEVELS:
    def run(level=level, uid=uid, prefix=prefix):
        if os.geteuid() != 0 and (uid is not None or prefix):
            ats.skip("needs root to set the stage")
        upgrades.original()
        with Box(uid, ("min_level=" + level, "limits=check"), prefix=prefix) as b:
            ats.equal(b.confinement["level"], level)
            id, go = begin(b)
            old, = fronts(b)
            before = seen(old)
            # In a user namespace of the test's making root's files are nobody's.
            upgrades.install(upgrades.newer()[0], owner=uid)
            b.link.send("control.upgrade", 0, {})
            ats.equal(b.link.expect("control.goodbye").json.get("text"), "upgrade")
            ats.equal(b.link.recv(), None)
            report = b.confinement
            b.link.close()
            b.link = ats.Link.connect(b.listen_path)
            _, ready = b.link.hello_as_brain(2)
            ats.equal((ready.json["running"], ready.json["fronts"]), ([id], 2))
            ats.equal(ready.json["confinement"], report)
            new, = fronts(b)
            ats.check(new != old, "the same front")
            after = seen(new)
            for k in SAME:
                mine = (before[0].get(k), after[0].get(k))
                if k == "NSpid":
                    mine = [len(x.split()) for x in mine]
                ats.equal(mine[0], mine[1], k)
            ats.check(int(after[0]["Seccomp_filters"]) >= int(before[0]["Seccomp_filters"]),
                      "fewer filters")
            for n in ("user", "pid", "ipc", "uts"):
                ats.equal(before[1][n], after[1][n], n)
            ats.equal(before[2], after[2])
            with open(go, "w", encoding="ascii") as w:
                w.write("go\n")
            ats.equal(b.link.expect("result", call=id).payload, b"before\ngo\nafter")
            b.link.send("control.ack", id, {})
            r = b.wait(b.start("Write", file_path=b.ws + "/f", content="x\n"))
            ats.equal(r.json["outcome"], "done")
            ats.check(not r.json.get("is_error"), r.json)
    ats.test("confined as before, and all goes on (%s%s)" % (
        level, "" if uid is None else ", as a user"), home=False)(run)


@ats.test("the host's network is not the new front's either", home=False)
def _():
    upgrades.original()
    with Box(None, ("net=host", "limits=check")) as b:
        if b.confinement["level"] != "namespaces":
            ats.skip("no namespaces here")
        old, = fronts(b)
        b.link.send("control.upgrade", 0, {})
        b.link.expect("control.goodbye")
        ats.until(lambda: fronts(b) and fronts(b) != [old], "the new front")
        host = os.readlink("/proc/self/ns/net")
        ats.check(seen(fronts(b)[0])[1]["net"] != host, "it has the host's network")


ats.main()
