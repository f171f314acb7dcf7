#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl approvals, approve and deny against a scripted vault."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_vault import FakeVault, canonical, sha256
from terminal import Terminal

SESSION = "s-0123456789ab"
HOSTILE = {"title": "a\x1b[2J\x07\u202eevil\u200b", "\u2066key": "\x9b31m", "body": "l1\nl2\t\\\"",
           "n": [1, True, None, {}], "tag": "\U000e0041x", "plain": "grün 東京"}


def vault_of(home):
    b = FakeVault(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    return b


def approve(home, id, *more, **kw):
    return Terminal(home, ats.program("atsctl"), "approve", id, *more, **kw)


@ats.test("a table, lines of JSON, one session alone")
def _(home):
    b = vault_of(home)
    ats.equal(home.ctl("approvals", code=0).stdout, b"nothing waits for approval\n")
    ats.equal(home.ctl("--json", "approvals", code=0).stdout, b"")
    first = b.wants("github", "create_issue", HOSTILE, SESSION, "/home/me/ws")
    b.wants("", "Bash\x1b[2J", {"command": "make"}, "s-ffffffffffff")
    out = home.ctl("approvals", code=0).stdout.decode()
    ats.missing(out, "\x1b")
    ats.matches(out, r"%s +github +create_issue +%s .*/home/me/ws\n" % (first, SESSION))
    lines = [json.loads(x) for x in home.ctl("approvals", "--json", code=0).stdout.splitlines()]
    ats.equal([x["gateway"] for x in lines], ["github", ""])
    ats.equal(lines[0]["arguments"], HOSTILE)
    ats.equal(lines[0]["sha256"], sha256(canonical(HOSTILE)))
    ats.equal(lines[0]["expires_at"] - lines[0]["asked_at"], 600000)
    lines = home.ctl("approvals", "--json", "--session", SESSION, code=0).stdout.splitlines()
    ats.equal(len(lines), 1)
    ats.equal({(f, w) for f, _, w in b.asked}, {(0, "terminal")})


@ats.test("--follow tells new and gone ones, also of the next brain")
def _(home):
    b = vault_of(home)
    first = b.wants("g", "t", {})
    p = home.popen(ats.program("atsctl"), "approvals", "--follow", "--json",
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def line():
        return json.loads(p.stdout.readline())
    ats.equal(line()["id"], first)
    second = b.wants("g", "t", {"x": 1})
    new = line()
    ats.equal((new["event"], new["id"], new["arguments"]), ("new", second, {"x": 1}))
    b.goes(first, "expired")
    ats.equal(line(), {"event": "gone", "id": first, "why": "expired"})
    b.drop_followers()
    ats.contains(p.stderr.readline(), b"waiting for the next")
    ats.equal(line()["id"], second)
    p.send_signal(signal.SIGINT)
    ats.equal(p.wait(ats.TIMEOUT), -signal.SIGINT)


@ats.test("approve shows all of it, escaped, and sends the digest of what it showed")
def _(home):
    b = vault_of(home)
    id = b.wants("github", "create_issue", HOSTILE, SESSION, "/home/me/ws\u202e")
    t = approve(home, id)
    t.expect(rb"\[y/N\] $")
    for hostile in (b"\x1b", b"\x07", "\u202e".encode(), "\u200b".encode(), "\u2066".encode(),
                    "\x9b".encode(), "\U000e0041".encode()):
        ats.missing(t.text, hostile)
    for shown in ("github", "create_issue", SESSION, "/home/me/ws\\u202e",
                  r'"title": "a\u001b[2J\u0007\u202eevil\u200b"', r'"\u2066key": "\u009b31m"',
                  r'"body": "l1\nl2\t\\\""', r'"tag": "\udb40\udc41x"', "grün 東京"):
        ats.contains(t.text, shown.encode())
    # What is shown is the value that was asked for.
    at = t.text.index(b"{\r\n")
    ats.equal(json.loads(t.text[at:t.text.rindex(b"\r\n}\r\n") + 3]), HOSTILE)
    t.type("y\n")
    ats.contains(t.end(0), b"is approved")
    ats.equal(b.decided, [("APPROVE", id, sha256(canonical(HOSTILE)), "terminal")])


@ats.test("only y approves; what was typed before the question does not")
def _(home):
    b = vault_of(home)
    id = b.wants("g", "t", {"a": 1})
    for said in ("n", "", "yy", "Yes!", "sure", "no y", "x" * 200):
        t = approve(home, id)
        t.expect(rb"\[y/N\] $")
        t.type(said + "\n")
        ats.contains(t.end(1), b"not approved, and still waits")
    t = approve(home, id)
    t.expect(rb"\[y/N\] $")
    t.type("\x04")
    t.end(1)
    ats.equal(b.decided, [])
    t = approve(home, id, before="y")
    t.expect(rb"\[y/N\] $")
    t.type("n\n")
    t.end(1)
    ats.equal(b.decided, [])
    t = approve(home, id, "--json")
    t.expect(rb"\[y/N\] $")
    t.type("YES\n")
    ats.contains(t.end(0), b'"decision":"approved"')
    ats.equal(len(b.decided), 1)


@ats.test("one that goes while it is asked about ends the question")
def _(home):
    b = vault_of(home)
    id = b.wants("g", "t", {})
    t = approve(home, id)
    t.expect(rb"\[y/N\] $")
    b.wants("g", "other", {})
    b.goes(id, "cancelled")
    ats.contains(t.end(1), b"waits no more: cancelled")
    other = b.wants("g", "t", {})
    t = approve(home, other)
    t.expect(rb"\[y/N\] $")
    b.drop_followers()
    ats.contains(t.end(1), b"brain ended")
    ats.equal(b.decided, [])


@ats.test("long arguments come by a file and are shown whole; the limit is told")
def _(home):
    b = vault_of(home)
    long = {"text": "ab\n" * 100000, "last": "the end"}
    id = b.wants("g", "t", long)
    t = approve(home, id)
    t.expect(rb"\[y/N\] $")
    ats.equal(t.text.count(rb"ab\n"), 100000)
    ats.contains(t.text, b'"last": "the end"')
    t.type("y\n")
    t.end(0)
    ats.equal(b.decided[0][2], sha256(canonical(long)))


@ats.test("without a terminal nothing is approved")
def _(home):
    b = vault_of(home)
    id = b.wants("g", "t", {})
    p = home.popen(ats.program("atsctl"), "approve", id, stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    out, err = p.communicate(b"y\n", ats.TIMEOUT)
    ats.equal((p.returncode, out), (125, b""))
    ats.matches(err.decode(), r"^atsctl: approve: .*terminal.*\n$")
    ats.equal(b.decided, [])


@ats.test("deny, its reason, and ids that do not wait")
def _(home):
    b = vault_of(home)
    id = b.wants("g", "t", {})
    ats.equal(home.ctl("deny", id, "--reason", "not ünder my name", code=0).stdout.decode(),
              "%s is denied\n" % id)
    ats.equal(b.decided, [("DENY", id, "not ünder my name", "terminal")])
    ats.contains(home.ctl("deny", id, code=1).stderr, b"no approval of this id waits")
    ats.contains(home.ctl("deny", "a-../../x", code=1).stderr, b"no id")
    home.ctl("deny", id, "--reason", "x" * 241, code=2)
    t = approve(home, id)
    ats.contains(t.end(1), b"no approval of this id waits")
    b.refuse = (7, "of another user")
    id = b.wants("g", "t", {})
    t = approve(home, id)
    t.expect(rb"\[y/N\] $")
    t.type("y\n")
    ats.contains(t.end(1), b"of another user")


@ats.test("messages of a vault that is not ours are refused")
def _(home):
    b = vault_of(home)
    for args in (b"{", b"", b'{"a":1,"a":2}', b'{"a":"\xff"}', b"x" * 70000):
        id = b.wants("g", "t", args)
        ats.contains(home.ctl("approvals", code=1).stderr, b"wrong message")
        b.goes(id, "expired")


ats.main()
