#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-hands shim in a relay directory: a server of the test's, and everything that can stand in an
answer's place."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from shim import Lines, text

SPECS = [{"name": "echo", "description": "d", "input_schema": {"type": "object"}},
         {"name": "short", "inputSchema": {"type": "object"}, "timeoutMs": 1},
         {"name": "browser", "kind": "client"}]
OURS = ("ATS_TOOLS_SPECS", "ATS_RELAY_DIR")
THEIRS = ("AGENTA_AGENT_TOOLS_PUBLIC_SPECS_FILE", "AGENTA_AGENT_TOOLS_RELAY_DIR")


class Directory(Lines):
    def __init__(self, home, names=OURS):
        self.dir = os.path.join(home.run, "relay")
        os.makedirs(self.dir, exist_ok=True)
        self.specs = os.path.join(home.run, "specs.json")
        with open(self.specs, "w", encoding="utf-8") as f:
            json.dump(SPECS, f)
        super().__init__(home, {names[0]: self.specs, names[1]: self.dir})

    def path(self, name):
        return os.path.join(self.dir, name)

    def requests(self, n=1):
        """The ids of those that are published, once there are so many."""
        def some():
            return sorted(x[:-9] for x in os.listdir(self.dir) if x.endswith(".req.json"))
        ats.until(lambda: len(some()) >= n, "%d requests" % n)
        return some()

    def take(self):
        """One is taken: (id, its text)."""
        ident = self.requests()[0]
        with open(self.path(ident + ".req.json"), encoding="utf-8") as f:
            data = f.read()
        os.unlink(f.name)
        return ident, data

    def publish(self, ident, data):
        temp = self.path(ident + ".res.json.tmp.1")
        with open(temp, "w", encoding="utf-8") as f:
            f.write(data if isinstance(data, str) else json.dumps(data))
        os.rename(temp, self.path(ident + ".res.json"))


@ats.test("a request is written as it should be, and its answer is read and removed")
def _(home):
    for names in (OURS, THEIRS):
        d = Directory(home, names)
        d.initialize()
        d.call(1, "echo", {"b": 1, "a": "\u00e9"})
        ident, data = d.take()
        ats.matches(data, "^" + re.escape(
            '{"toolName":"echo","toolCallId":"%s","args":{"b": 1, "a": "\\u00e9"}}' % ident) + "$")
        d.publish(ident, {"ok": True, "text": "x\n"})
        ats.equal(d.answer(1), text("x\n"))
        ats.equal(os.listdir(d.dir), [])
        d.end()


@ats.test("an error is one, paused comes before the rest, and more members are left alone")
def _(home):
    d = Directory(home)
    for i, (answer, want) in enumerate((
            ({"ok": False, "error": "no"}, ("no", True)),
            ({"ok": True, "text": "", "ms": 3}, ("", None)),
            ({"ok": False, "paused": True, "error": "x"}, ("no result yet", None)),
            ({"ok": True, "paused": True}, ("no result yet", None)))):
        d.call(i, "browser")
        d.publish(d.take()[0], answer)
        r = d.answer(i)["result"]
        ats.contains(r["content"][0]["text"], want[0])
        ats.equal(r.get("isError"), want[1])
    d.end()


@ats.test("an answer that is none is an error, and removed")
def _(home):
    d = Directory(home)
    secret = os.path.join(home.run, "secret")
    with open(secret, "w", encoding="utf-8") as f:
        f.write("SECRET")

    def link(path):
        os.symlink(secret, path)

    def large(path):
        with open(path + ".tmp.1", "wb") as f:
            f.truncate(1 << 30)
        os.rename(path + ".tmp.1", path)

    for i, put in enumerate((link, os.mkfifo, os.mkdir, large, "", "SECRET", "{\"ok\":true}",
                             "[]", "{\"ok\":true,\"text\":\"\xff\"} x")):
        d.call(i, "echo", {})
        ident, _ = d.take()
        path = d.path(ident + ".res.json")
        if callable(put):
            put(path)
        else:
            d.publish(ident, put)
        r = d.answer(i)["result"]
        ats.check(r["isError"] and "cannot be read" in r["content"][0]["text"], r)
        ats.missing(r["content"][0]["text"], "SECRET")
        if put is os.mkdir:
            os.rmdir(path)
        ats.equal(os.listdir(d.dir), [])
    with open(secret, encoding="utf-8") as f:
        ats.equal(f.read(), "SECRET")
    d.end()


@ats.test("many at once, answered in another order")
def _(home):
    d = Directory(home)
    for i in range(40):
        d.call(i, "echo", {"i": i})
    ids = d.requests(40)
    for ident in reversed(ids):
        with open(d.path(ident + ".req.json"), encoding="utf-8") as f:
            n = json.load(f)["args"]["i"]
        os.unlink(f.name)
        d.publish(ident, {"ok": True, "text": str(n)})
    got = {}
    for _ in range(40):
        m = d.line()
        got[m.pop("id")] = m
    ats.equal(got, {i: text(str(i)) for i in range(40)})
    ats.equal(os.listdir(d.dir), [])
    d.end()


@ats.test("what a server does not take in time was not started; what it took may have been")
def _(home):
    d = Directory(home)
    begin = time.monotonic()
    d.call(1, "short")
    d.call(2, "short")
    ids = d.requests(2)
    os.unlink(d.path(ids[0] + ".req.json"))
    texts = sorted(d.line(30)["result"]["content"][0]["text"] for _ in range(2))
    ats.check(10 <= time.monotonic() - begin < 25, time.monotonic() - begin)
    ats.contains(texts[0], "not known")
    ats.contains(texts[1], "was not started")
    ats.equal(os.listdir(d.dir), [])
    d.end()


@ats.test("cancelled before it is taken: nothing of it stays; after: its answer is removed")
def _(home):
    d = Directory(home)
    d.call(1, "echo")
    d.requests()
    d.send("notifications/cancelled", None, {"requestId": 1})
    ats.until(lambda: not os.listdir(d.dir), "no request")
    d.call(2, "echo")
    ident, _ = d.take()
    d.send("notifications/cancelled", None, {"requestId": 2})
    d.ping()
    d.publish(ident, {"ok": True, "text": "late"})
    ats.until(lambda: not os.listdir(d.dir), "no answer")
    d.ping()
    d.end()


@ats.test("at the end of stdin what was not taken is removed")
def _(home):
    d = Directory(home)
    d.call(1, "echo")
    d.requests()
    ats.equal(d.end(), "")
    ats.equal(os.listdir(d.dir), [])


@ats.test("a directory that is gone is an error of the call")
def _(home):
    d = Directory(home)
    d.ping()
    os.rmdir(d.dir)
    d.call(1, "echo")
    r = d.answer(1)["result"]
    ats.check(r["isError"] and "not started" in r["content"][0]["text"], r)
    d.end()


ats.main()
