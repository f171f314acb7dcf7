#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Raw data of a call: a file's bytes through the caller's own pipe, never through JSON."""
import hashlib
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

MIB = 1 << 20


def ask(d, fds, names=("data",), tool="Read", **arguments):
    """Sends a call with these descriptors, which are closed here; returns its id."""
    i = d.send("ats/tool.call", {"name": tool, "arguments": arguments, "fds": list(names)}, fds)
    for fd in fds:
        os.close(fd)
    return i


def attached(home):
    home.start()
    return home.door(home.register()[0])


def drain(r, n=None):
    """Everything, or n bytes of it."""
    parts, have = [], 0
    while n is None or have < n:
        part = os.read(r, MIB if n is None else min(MIB, n - have))
        if not part:
            break
        parts.append(part)
        have += len(part)
    return b"".join(parts)


@ats.test("atsctl call --data: the bytes of a file, whatever they are", users=True)
def _(home):
    out = os.path.join(home.home, "out")
    for n in (0, 1, 65536, 65537, 5 * MIB + 3):
        data = os.urandom(n)
        home.write("f", data)
        r = home.ctl("call", "--data", out, "Read", '{"file_path":"f"}', code=0)
        ats.equal((r.stdout, r.stderr), (b"", b""))
        with open(out, "rb") as f:
            ats.check(f.read() == data, "%d bytes came otherwise" % n)
        r = home.ctl("call", "--data", "-", "Read", '{"file_path":"f"}', code=0)
        ats.check(r.stdout == data, "%d bytes came otherwise on stdout" % n)
    for arguments, code, says in (
            ('{"file_path":"none"}', 1, "does not exist"), ('{"file_path":"."}', 1, "directory"),
            ('{"file_path":"/etc/passwd"}', 1, "outside"),
            ('{"file_path":"f","limit":2}', 1, "whole file")):
        r = home.ctl("call", "--data", out, "Read", arguments, code=code)
        ats.contains((r.stdout + r.stderr).decode(), says)
        ats.equal(os.path.getsize(out), 0)
    r = home.ctl("call", "--data", out, "Bash", '{"command":"true"}', code=125)
    ats.contains(r.stderr.decode(), "call: Bash gives no data; Read does")
    r = home.ctl("call", "--data", "/nowhere/x", "Read", '{"file_path":"f"}', code=125)
    ats.contains(r.stderr.decode(), "/nowhere/x")


@ats.test("without a stdout nothing is success that should be there")
def _(home):
    home.write("f", b"some data\n")
    home.start()
    for options, code in ((["--data", "-"], 125), ([], 1)):
        r = home.popen("sh", "-c", 'exec "$@" >&-', "sh", ats.program("atsctl"), "call", *options,
                       "Read", '{"file_path":"f"}', stderr=subprocess.PIPE)
        ats.contains(r.communicate(timeout=ats.TIMEOUT)[1].decode(), "Bad file descriptor")
        ats.equal(r.returncode, code, str(options))
    r = home.popen("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", ats.program("atsctl"), "exec",
                   "--", "true")
    ats.equal(r.wait(ats.TIMEOUT), 0)


@ats.test("what was read raw counts as read")
def _(home):
    home.write("f", b"one two\n")
    d = attached(home)
    r, w = os.pipe()
    i = ask(d, [w], file_path="f")
    ats.equal(drain(r), b"one two\n")
    os.close(r)
    a = d.answer(i)["result"]
    ats.equal((a["outcome"], a["is_error"]), ("done", False))
    ats.contains(a["content"][0]["text"], "8 bytes")
    a = d.request("ats/tool.call", {"name": "Edit", "arguments": {
        "file_path": "f", "old_string": "one", "new_string": "1"}})
    ats.equal(a["is_error"], False)
    ats.equal(home.read("f"), b"1 two\n")


@ats.test("what a reader does not take is no success, and time ends its call")
def _(home):
    d = attached(home)
    home.write("next", b"x\n")
    for n in (3 * MIB // 2, 8 * MIB):    # all of it in the engine or the pipe, or not
        home.write("f", os.urandom(n))
        for ms in (1000, 100):          # the second is over before it begins
            r, w = os.pipe()
            i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "f"},
                                         "fds": ["data"], "timeout_ms": ms}, [w])
            os.close(w)
            a = d.answer(i)["result"]
            ats.equal((a["is_error"], a.get("code")), (True, "timeout"), "%r" % a)
            ats.check(len(drain(r)) < n, "all of it was there")
            os.close(r)
        r, w = os.pipe()
        i = ask(d, [w], file_path="f")
        drain(r, 10)
        os.close(r)
        ats.equal(d.answer(i)["result"]["is_error"], True, "%d bytes, a reader that left" % n)
        r, w = os.pipe()
        i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "f"},
                                     "fds": ["data"]}, [w])
        os.close(w)
        drain(r, 10)
        d.request("ats/tool.call", {"name": "Read", "arguments": {"file_path": "next"}})
        d.notify("notifications/cancelled", {"requestId": i})
        ats.check(len(drain(r)) + 10 < n, "all of it came")
        os.close(r)


@ats.test("descriptors that are not what they should be are refused, and the next call works")
def _(home):
    home.write("f", b"x")
    d = attached(home)
    for names, count, says in ((["data"], 0, "no descriptor"), (["stdout"], 1, "alone"),
                               (["data", "data"], 1, "fds"), (["data", "data"], 2, "fds"),
                               ([], 1, "fds"), ([1], 1, "fds"), ([1, 2], 2, "fds")):
        pairs = [os.pipe() for _ in range(count)]
        a = d.answer(ask(d, [w for _, w in pairs], names, file_path="f"))
        ats.contains(a["error"]["message"] + str(a["error"].get("data")), says)
        for r, _ in pairs:
            ats.equal(os.read(r, 1), b"")
            os.close(r)
    with open(os.devnull, "wb") as f:
        a = d.answer(ask(d, [os.dup(f.fileno())], file_path="f"))
        ats.contains(a["error"]["message"], "pipe")
    r, w = os.pipe()
    i = ask(d, [w], file_path="f")
    ats.equal(drain(r), b"x")
    os.close(r)
    ats.equal(d.answer(i)["result"]["outcome"], "done")


@ats.test("a reader that waits holds up its own call only, one that goes away ends it")
def _(home):
    data = os.urandom(8 * MIB)
    home.write("f", data)
    home.write("g", b"small\n")
    d = attached(home)
    r, w = os.pipe()
    i = ask(d, [w], file_path="f")
    first = drain(r, 100)
    for _ in range(20):
        a = d.request("ats/tool.call", {"name": "Read", "arguments": {"file_path": "g"}})
        ats.equal(a["content"][0]["text"], "1\tsmall")
    ats.check(first + drain(r) == data, "other bytes")
    os.close(r)
    ats.equal(d.answer(i)["result"]["is_error"], False)
    r, w = os.pipe()
    i = ask(d, [w], file_path="f")
    drain(r, 100)
    os.close(r)
    ats.equal(d.answer(i)["result"]["is_error"], True)
    a = d.request("ats/tool.call", {"name": "Read", "arguments": {"file_path": "g"}})
    ats.equal(a["is_error"], False)


@ats.test("a sandbox that is lost in the middle: the call says that the data are not whole")
def _(home):
    home.write("f", os.urandom(8 * MIB))
    d = attached(home)
    r, w = os.pipe()
    i = ask(d, [w], file_path="f")
    drain(r, 100)
    os.kill(home.pids("ats-hands")[0], signal.SIGKILL)
    ats.check(len(drain(r)) + 100 < 8 * MIB, "all of it came")
    os.close(r)
    a = d.answer(i)["result"]
    ats.equal((a["is_error"], a["code"]), (True, "sandbox_lost"))
    ats.contains(a["content"][0]["text"], "not whole")
    a = d.request("ats/tool.call", {"name": "LS", "arguments": {"path": "."}})
    ats.equal(a["is_error"], False)


@ats.test("40 MiB of data: no process grows with it")
def _(home):
    path = home.write("f", b"")
    want = hashlib.sha256()
    with open(path, "wb") as f:
        for _ in range(40):
            block = os.urandom(MIB)
            want.update(block)
            f.write(block)
    d = attached(home)
    r, w = os.pipe()
    i = ask(d, [w], file_path="f")
    got = hashlib.sha256()
    peak = 0
    for n in range(40 * MIB // 65536):
        part = drain(r, 65536)
        got.update(part)
        if n % 64 == 0:
            for p in home.ours():
                peak = max(peak, rss_kib(p))
    os.close(r)
    ats.equal(d.answer(i)["result"]["is_error"], False)
    ats.equal(got.hexdigest(), want.hexdigest())
    ats.small(peak, 16 << 10, "KiB of the largest process")


def rss_kib(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return max([int(x.split()[1]) for x in f if x.startswith("VmHWM")] or [0])
    except OSError:
        return 0


ats.main()
