#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that go with calls of gateways, as the vault takes them from an engine that may say
anything (tests/lib/vault_rig.py): what a person is shown is what the gateway gets."""
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import person
from vault_rig import STARTED, WAITS, VaultRig, sha256

TOOBIG, FULL, NOTFILE, PROTO, FIELD = 3, 8, 16, 100, 103
FILE = {"type": "file"}


def tool(permission, required=("f",), **props):
    return {"description": "d", "argv": ["/bin/true"], "permission": permission,
            "input": {"type": "object", "properties": props, "required": list(required)}}


def conf(**more):
    return {"gateways": {"run": {"kind": "command", "tools": {
        "send": tool("ask", f=FILE, to={"type": "string"}),
        "quick": tool("allow", f=FILE),
        "two": tool("ask", (), z=FILE, a=FILE),
        "plain": tool("allow", (), f={"type": "string"})}}}, **more}


def memfd(data):
    fd = os.memfd_create("file")
    os.write(fd, data)
    return fd


def shown(path, data):
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def canonical(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def waits(rig, home, call):
    state, _, text, id = rig.engine.state(call)
    ats.equal(state, WAITS, text)
    (one,) = [x for x in person.waiting(home) if x.id == id]
    return id, one.args


@ats.test("a file's hash is shown, and the bytes that had it are what the gateway gets")
def _(home):
    rig = VaultRig(home, conf())
    s = rig.session()
    data = os.urandom(300000)
    fd = memfd(data)
    rig.engine.ask(1, s, "run__send", '{"to":"x","f":"dir/a \\u00e9\\"b"}', fds=[fd])
    id, args = waits(rig, home, 1)
    ats.equal(args, json.dumps({"f": shown("dir/a \u00e9\"b", data), "to": "x"},
                               separators=(",", ":"), ensure_ascii=False))
    # All that an engine may do to what it sent.
    os.pwrite(fd, b"evil", 0)
    os.ftruncate(fd, 5)
    os.lseek(fd, 3, os.SEEK_SET)
    home.vault().ask("APPROVE", id, sha256(args), "terminal")
    g = rig.gateway()
    rig.ready(g)
    ats.equal(rig.engine.state(1)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[2:], ["send", args])
    ats.equal(len(g.fds), 1)
    got = g.take_fd()
    ats.equal(os.read(got, 400000), data)
    for change in (lambda: os.pwrite(got, b"x", 0), lambda: os.ftruncate(got, 1)):
        try:
            change()
        except OSError:
            continue
        raise ats.Failure("it can be changed")
    # Another file at that path is another call.
    rig.engine.ask(2, s, "run__send", '{"f":"a"}', fds=[memfd(b"one")])
    rig.engine.ask(3, s, "run__send", '{"f":"a"}', fds=[memfd(b"two")])
    one, two = (waits(rig, home, call) for call in (2, 3))
    ats.check(one[1] != two[1], one)
    try:
        home.vault().ask("APPROVE", two[0], sha256(one[1]), "terminal")
    except ats.VaultError as e:
        ats.equal(e.code, 211)
    else:
        raise ats.Failure("approved by the hash of another file")


@ats.test("several files, in the order of the configuration; long arguments beside them")
def _(home):
    rig = VaultRig(home, conf())
    s = rig.session()
    rig.engine.ask(1, s, "run__two", '{"a":"A","z":"Z"}', fds=[memfd(b"of z"), memfd(b"of a")])
    ats.equal(waits(rig, home, 1)[1],
              canonical({"a": shown("A", b"of a"), "z": shown("Z", b"of z")}))
    rig.engine.ask(2, s, "run__two", '{"a":"A"}', fds=[memfd(b"")])
    id, args = waits(rig, home, 2)
    ats.equal(args, canonical({"a": shown("A", b"")}))
    long = {"f": "p", "to": "x" * 100000}
    rig.engine.ask(3, s, "run__send", "", fds=[memfd(canonical(long).encode()), memfd(b"data")])
    id = rig.engine.state(3)[3]
    args = canonical({**long, "f": shown("p", b"data")})
    home.vault().ask("APPROVE", id, sha256(args), "terminal")
    g = rig.gateway()
    rig.ready(g)
    ats.equal(rig.engine.state(3)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[3], "")
    with open(g.take_fd(), "rb") as f, open(g.take_fd(), "rb") as h:
        ats.equal((f.read().decode(), h.read()), (args, b"data"))


@ats.test("an engine gets no file through that is none, is too large, or has no argument")
def _(home):
    rig = VaultRig(home, conf(limits={"file_bytes": 1000}))
    s, e = rig.session(), rig.engine
    r, w = os.pipe()
    disk = home.write("disk", "data")
    d = os.open(disk, os.O_RDONLY)
    one = memfd(b"1")
    forged = canonical({"f": shown("p", b"1")})
    for call, (tool_name, args, fds, code) in enumerate((
            ("send", '{"f":"p"}', [], PROTO),
            ("send", '{"f":"p"}', [one, one], PROTO),
            ("send", '{"f":"p"}', [r], NOTFILE),
            ("send", '{"f":"p"}', [d], NOTFILE),
            ("send", '{"f":"p"}', [memfd(b"x" * 1001)], TOOBIG),
            ("send", '{"f":7}', [one], FIELD),
            ("send", forged, [one], FIELD),
            ("send", forged, [], FIELD),
            ("quick", forged, [], FIELD),
            ("quick", '{"f":"%s"}' % ("p" * 5000), [one], FIELD),
            ("send", '{"to":"p"}', [one], PROTO),
            ("send", '{"to":"p"}', [], FIELD),
            ("two", '{"a":"p","z":"q"}', [memfd(b"x" * 600), memfd(b"y" * 600)], TOOBIG),
            ("plain", '{"f":"p"}', [one], PROTO)), 1):
        e.ask(call, s, "run__" + tool_name, args, fds=fds)
        got, text = e.refused(call)
        ats.equal(got, code, (call, text))
    e.ask(50, s, "Bash", '{"command":"x"}', fds=[one])
    ats.equal(e.refused(50)[0], PROTO)
    ats.check(rig.none_started())
    # What it holds is given back: as many again.
    for call in range(60, 160):
        e.ask(call, s, "run__send", '{"f":"p"}', fds=[memfd(b"x" * 1000)])
        ats.equal(e.state(call)[0], WAITS)
        e.say("GATEWAY_CANCEL", call)
        e.refused(call)
    os.close(r), os.close(w), os.close(d)


@ats.test("files of one session leave room for those of others")
def _(home):
    rig = VaultRig(home, conf(limits={"file_bytes": 8 << 20}))
    s, e = rig.session(), rig.engine
    other = rig.session("name:other")
    big = os.memfd_create("file")
    os.ftruncate(big, 8 << 20)
    for call in (1, 2):
        e.ask(call, s, "run__send", '{"f":"p"}', fds=[big])
        ats.equal(e.state(call)[0], WAITS)
    e.ask(3, s, "run__send", '{"f":"p"}', fds=[memfd(b"x")])
    ats.equal(e.refused(3)[0], FULL)
    e.ask(4, other, "run__send", '{"f":"p"}', fds=[big])
    ats.equal(e.state(4)[0], WAITS)
    e.say("GATEWAY_CANCEL", 1)
    e.refused(1)
    e.ask(5, s, "run__send", '{"f":"p"}', fds=[memfd(b"x")])
    ats.equal(e.state(5)[0], WAITS)


@ats.test("an engine that ends: what was approved runs with the bytes that were shown")
def _(home):
    rig = VaultRig(home, conf())
    s = rig.session()
    rig.engine.ask(1, s, "run__send", '{"f":"p"}', fds=[memfd(b"shown")])
    id, args = waits(rig, home, 1)
    rig.engine.leave()
    rig.engine = rig.next_engine()
    rig.engine.session()
    ats.equal(rig.engine.state(1)[0], WAITS)
    home.vault().ask("APPROVE", id, sha256(args), "terminal")
    g = rig.gateway()
    rig.ready(g)
    ats.equal(rig.engine.state(1)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[2:], ["send", args])
    with open(g.take_fd(), "rb") as f:
        ats.equal(f.read(), b"shown")


ats.main()
