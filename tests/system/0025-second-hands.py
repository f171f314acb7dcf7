#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hands that was written from the documents alone (tests/lib/second_hands.py): it plays the vectors,
serves a real brain, and refuses what the documents refuse."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import second_hands


def vectors():
    """Each as a dict; those of tools' inputs and of what hooks print are of the JSON Schemas, which
    are no part of this."""
    for path in sorted(glob.glob(os.path.join(ats.TOP, "proto", "vectors", "*", "*.txt"))):
        with open(path, encoding="utf-8", newline="\n") as f:
            for block in re.split(r"\n\n+", f.read()):
                v = dict(x.split(": ", 1) for x in block.split("\n") if x and x[0] != "#")
                if "vector" in v and "tool" not in v and not v.get("shape", "").startswith("hook_"):
                    yield path, v


def json_of(v):
    if "json_hex" in v:
        return bytes.fromhex(v["json_hex"])
    return re.sub(r"<(.)\*(\d+)>", lambda m: m[1] * int(m[2]), v.get("json", "")).encode()


def play(v):
    """"ok", or the code of the refusal."""
    try:
        if "shape" in v:
            second_hands.decode(v["shape"], json_of(v))
            return "ok"
        if "hex" in v:
            data = bytes.fromhex(v["hex"])
            h, body = second_hands.head(data[:20]), data[20:]
        else:
            body = json_of(v)
            n, payload = int(v.get("json_len", len(body))), int(v.get("payload", 0))
            kind, sub = map(int, v["frame"].split())
            h = second_hands.head(
                second_hands.struct.pack(">IBBHQI", 20 + n + payload, kind, sub, 0, 1, n))
        row = second_hands.gate(h, v["from"], v["state"])
        second_hands.decode(row["name"], body[:h[4]])
    except second_hands.Refused as e:
        return e.code
    return "ok"


@ats.test("it says of each vector of frames and contexts what the vector says", home=False)
def _():
    played = {"ok": 0, "refused": 0}
    for path, v in vectors():
        ats.equal(play(v), v["expect"], "%s: %s" % (os.path.basename(path), v["vector"]))
        played["ok" if v["expect"] == "ok" else "refused"] += 1
    ats.check(played["ok"] > 50 and played["refused"] > 400, played)


def start(home):
    path = os.path.join(home.run, "second.sock")
    p = home.popen(sys.executable, second_hands.__file__, path, home.ws,
                   stderr=subprocess.DEVNULL)
    ats.Link.connect_when_up(path, p).close()
    return path


@ats.test("a real brain reads a file through it, with what the session has read since")
def _(home):
    path = start(home)
    home.configure({"sandbox": {"url": "unix:" + path}})
    home.write("a.txt", "from another\nhands\n")
    mcp = home.mcp()
    mcp.initialize()
    text = mcp.text("Read", file_path=home.ws + "/a.txt")
    ats.contains(text, "from another")
    ats.matches(text, r"2\thands")
    ats.contains(mcp.error("Read", file_path=home.ws + "/none"), "No such file")
    ats.contains(mcp.error("Read", file_path="/etc/passwd"), "outside of the workspace")
    ats.contains(mcp.error("Bash", command="true"), "Read alone")
    ats.contains(home.ctl("status").stdout.decode(), "unix:" + path)
    home.ctl("shutdown", code=0)


@ats.test("what a brain must not send ends its link with the code of the documents")
def _(home):
    path = start(home)
    hello = {"version_min": 1, "version_max": 1, "digest": "", "role": "brain", "epoch": 1}
    for name, obj, code in (("control.ready", {"confinement": {}}, "protocol"),
                            ("control.ping", {"seq": 1}, "out_of_state"),
                            ("control.hello", dict(hello, version_min=2, version_max=3), "version"),
                            ("control.hello", dict(hello, more=1), "bad_field")):
        link = ats.Link.connect(path)
        link.send(name, 0, obj)
        f = link.recv()
        ats.equal((f.name, f.json["code"]), ("control.goodbye", code))
        ats.equal(link.recv(), None)
        link.close()


ats.main()
