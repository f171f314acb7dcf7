#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hands behind a scripted brain: exec streams, background commands, bounded memory and disk."""
import hashlib
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

SESSION = "s-000000000001"
MIB = 1 << 20


def attach(home, *options):
    h = ats.Hands(home, *options)
    h.link.hello_as_brain()
    return h


def exec_call(home, argv, window=4 * MIB, **kw):
    m = {"argv": argv, "ctx": {"cwd": home.ws}, "session": SESSION, "window": window}
    m.update(kw)
    return m


def tool(home, name, session=SESSION, **arguments):
    return {"name": name, "input": arguments, "ctx": {"cwd": home.ws}, "deadline_ms": 30000,
            "session": session}


def run(h, home, argv, id=1, stdin=None, **kw):
    """Runs to the end; (result, stdout, stderr). Credit is given back as it is used."""
    if stdin is not None:
        kw["want_stdin"] = True
    h.link.send("call.exec", id, exec_call(home, argv, **kw))
    out = {"stdout": b"", "stderr": b""}
    credit, sent, eof = 0, 0, stdin is None
    while True:
        while not eof and (credit > 0 or sent == len(stdin)):
            part = stdin[sent:sent + min(credit, 65536)]
            eof = sent + len(part) == len(stdin)
            m = {"offset": sent}
            if eof:
                m["eof"] = True
            h.link.send("event.stdin", id, m, part)
            sent += len(part)
            credit -= len(part)
        f = h.link.recv()
        if f is None:
            raise ats.Failure("the link ended")
        if f.name == "control.window":
            ats.equal(f.json["stream"], "stdin")
            credit += f.json["bytes"]
        elif f.name.startswith("event.std"):
            name = f.name[6:]
            ats.equal(f.json["offset"], len(out[name]))
            out[name] += f.payload
            h.link.send("control.window", id, {"stream": name, "bytes": len(f.payload)})
        elif f.name == "result" and f.call == id:
            return f, out["stdout"], out["stderr"]


def private_kib(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return sum(int(n) for n in re.findall(r"^Private_\w+:\s+(\d+) kB", f.read(), re.M))


def front_of(h):
    return [p for p in ats.descendants(h.proc.pid) if ats.comm(p) == "ats-front"][0]


@ats.test("exec gives output, errors, status and arguments as they are")
def _(home):
    h = attach(home)
    r, out, err = run(h, home, ["sh", "-c", "printf '%s|' \"$@\"; echo e >&2; exit 9", "sh",
                                "a b", "", "$x", "ü"])
    ats.equal((out, err), ("a b||$x|ü|".encode(), b"e\n"))
    ats.equal((r.json["exit_kind"], r.json["exit_code"]), ("exit", 9))
    r, out, err = run(h, home, ["/nonexistent"], id=2)
    ats.equal(r.json["exit_code"], 127)
    r, out, err = run(h, home, ["sh", "-c", "kill -TERM $$"], id=3)
    ats.equal((r.json["exit_kind"], r.json["exit_code"]), ("signal", 15))


@ats.test("exec stdin arrives whole; without one it is empty")
def _(home):
    h = attach(home)
    data = os.urandom(3 * MIB + 17)
    r, out, err = run(h, home, ["sha256sum"], stdin=data)
    ats.equal(out.split()[0].decode(), hashlib.sha256(data).hexdigest())
    r, out, err = run(h, home, ["cat"], id=2, stdin=b"")
    ats.equal((r.json["exit_code"], out), (0, b""))
    r, out, err = run(h, home, ["cat"], id=3)
    ats.equal((r.json["exit_code"], out), (0, b""))
    r, out, err = run(h, home, ["head", "-c", "5"], id=4, stdin=data)
    ats.equal(out, data[:5])


@ats.test("exec takes signals and resizes, and tty is a terminal")
def _(home):
    h = attach(home)
    # bash: dash forgets an interrupt that comes while it starts a command.
    loop = "trap 'echo got; exit 4' INT; echo up; while :; do sleep 0.05; done"
    h.link.send("call.exec", 1, exec_call(home, ["bash", "-c", loop]))
    h.link.expect("event.stdout")
    h.link.send("control.signal", 1, {"number": 2})
    ats.equal(h.link.expect("result").json["exit_code"], 4)
    r, out, err = run(h, home, ["sh", "-c", "test -t 0 && test -t 1 && stty size"], id=2,
                      tty=True, rows=33, cols=101)
    ats.contains(out, b"33 101")


@ats.test("exec without credit waits, and does not hold others")
def _(home):
    h = attach(home)
    h.link.send("call.exec", 1, exec_call(home, ["yes"], window=100000))
    got = 0
    while got < 100000:
        got += len(h.link.expect("event.stdout").payload)
    ats.equal(got, 100000)
    start = time.monotonic()
    h.link.send("call.tool", 2, tool(home, "Bash", command="echo hi"))
    f = h.link.recv()
    ats.equal((f.name, f.call, f.payload), ("result", 2, b"hi"))
    ats.check(time.monotonic() - start < 2, "held up")
    h.link.send("control.cancel", 1, {})
    while True:
        f = h.link.recv()
        if f.name == "result":
            break
        ats.equal(f.name, "event.gap")
        ats.equal((f.json["stream"], f.json["from"]), ("stdout", 100000))
    ats.equal(f.json["exit_kind"], "cancelled")


@ats.test("exec runs on when the link is lost, until a brain that does not know it cancels it")
def _(home):
    h = attach(home)
    h.link.send("call.exec", 1, exec_call(home, ["sh", "-c", "echo up; exec sleep 300"]))
    h.link.expect("event.stdout")
    h.link.close()
    link = h.connect()
    _, ready = link.hello_as_brain(epoch=2)
    ats.equal(ready.json["running"], [1])
    ats.check(any(ats.comm(p) == "sleep" for p in ats.descendants(h.proc.pid)))
    link.send("control.cancel", 1, {"why": "cancelled"})
    frame = link.expect("result")
    ats.equal((frame.call, frame.json["exit_kind"]), (1, "cancelled"))
    ats.until(lambda: not any(ats.comm(p) == "sleep" for p in ats.descendants(h.proc.pid)),
              "sleep has ended")
    link.close()


def stream(h, id, total, digest=None):
    """Reads total bytes of stdout as fast as python can; returns seconds."""
    sock, buf = h.link.sock, bytearray(4 * MIB)
    view = memoryview(buf)
    have, got, owed = 0, 0, 0
    start = time.monotonic()
    while True:
        n = sock.recv_into(view[have:])
        ats.check(n > 0, "the link ended")
        have += n
        at = 0
        while have - at >= 20:
            size, typ, kind, _, call, jn = struct.unpack_from(">IBBHQI", buf, at)
            if have - at < size:
                break
            if typ == 3:
                ats.equal(got, total)
                return time.monotonic() - start
            pn = size - 20 - jn
            if digest is not None:
                digest.update(view[at + 20 + jn:at + size])
            got += pn
            owed += pn
            at += size
        if owed > MIB:
            h.link.send("control.window", id, {"stream": "stdout", "bytes": owed})
            owed = 0
        view[:have - at] = bytes(view[at:have])
        have -= at


STREAM = ats.rounds(256, 1024)        # MiB


@ats.test("exec streams %d MiB with the right checksum, in bounded memory" % STREAM,
          long=ats.PARTLY)
def _(home):
    h = attach(home)
    front = front_of(h)
    home.write("block", bytes(range(256)) * 4096 * 16)		# 16 MiB
    want = hashlib.sha256()
    for _i in range(STREAM // 16):
        want.update(home.read("block"))
    got = hashlib.sha256()
    # A first, uncounted pass measures the chain without the digest.
    blocks = "for i in $(seq %d); do cat block; done" % (STREAM // 16)
    h.link.send("call.exec", 1, exec_call(home, ["sh", "-c", blocks], window=8 * MIB))
    took = stream(h, 1, STREAM * MIB)
    print("# exec, %d MiB through hands: %.2f GB/s" % (STREAM, STREAM * MIB / took / 1e9))
    h.link.send("call.exec", 2, exec_call(home, ["sh", "-c", blocks], window=8 * MIB))
    stream(h, 2, STREAM * MIB, got)
    ats.equal(got.hexdigest(), want.hexdigest())
    for id in (1, 2):           # until then their last bytes are held
        h.link.send("control.ack", id)
    h.link.send("control.ping", 0, {"seq": 1})
    h.link.expect("control.pong")
    kib = private_kib(front)
    print("# front after it: %d KiB private" % kib)
    ats.small(kib, 6000, "KiB of front")


# ATS_LONG=1: the 10 GiB of the requirement; what is tested is the same with two.
BLOCKS = 640 if os.environ.get("ATS_LONG") else ats.rounds(64, 128)


@ats.test("Bash with gigabytes of output: bounded memory and disk, head, tail and gap",
          long=ats.PARTLY)
def _(home):
    h = attach(home)
    front = front_of(h)
    home.write("block", b"x" * (16 * MIB))
    start = time.monotonic()
    m = tool(home, "Bash", command="echo first; for i in $(seq %d); do cat block; done; echo; "
             "echo last" % BLOCKS)
    m["deadline_ms"] = 120000
    h.link.send("call.tool", 1, m)
    r = h.link.expect("result", timeout=100)
    took = time.monotonic() - start
    print("# Bash, %d MiB: %.2f GB/s" % (BLOCKS * 16, BLOCKS * 16 * MIB / took / 1e9))
    text = r.payload.decode()
    ats.check(text.startswith("first\nxxx"), text[:40])
    ats.contains(text, "xxx\nlast")
    ats.contains(text, "first 32 and the last 32 MiB")
    ats.equal(r.json["output"]["bytes"], BLOCKS * 16 * MIB + 12)
    name = os.path.basename(r.json["output"]["file"])
    path = os.path.join(h.state_dir, "spill", name)
    size = os.stat(path).st_size
    ats.check(64 * MIB < size < 64 * MIB + 200, size)
    with open(path, "rb") as f:
        ats.equal(f.read(6), b"first\n")
        f.seek(32 * MIB)
        ats.contains(f.read(100), b"bytes were not kept")
        f.seek(-6, 2)
        ats.equal(f.read(), b"\nlast\n")
    ats.small(private_kib(front), 6000, "KiB of front")


@ats.test("an idle front is small")
def _(home):
    h = attach(home)
    for i in range(1, 20):
        h.link.send("call.tool", i, tool(home, "Bash", command="echo hi"))
        h.link.expect("result", call=i)
    kib = private_kib(front_of(h))
    print("# idle front: %d KiB private" % kib)
    ats.small(kib, 1400, "KiB of front")


@ats.test("background: an id at once, new output once, status and exit code")
def _(home):
    h = attach(home)

    def ask(id, name, **kw):
        h.link.send("call.tool", id, tool(home, name, **kw))
        return h.link.expect("result", call=id)

    r = ask(1, "Bash", command="echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; "
            "bash -c 'exit 7'", run_in_background=True)
    ats.contains(r.payload, b"bash_1")
    ats.equal(r.json["ctx_delta"]["shell_started"], "bash_1")
    n, text = 1, ""
    while "one" not in text:
        n += 1
        text = ask(n, "BashOutput", bash_id="bash_1").payload.decode()
    ats.equal(text, "<status>running</status>\n<output>\none\n</output>")
    home.write("go", "")
    while "failed" not in text:
        n += 1
        r = ask(n, "BashOutput", bash_id="bash_1")
        text = r.payload.decode()
    ats.contains(text, "<exit_code>7</exit_code>")
    ats.equal(r.json["ctx_delta"]["shell_ended"], "bash_1")
    r = ask(100, "BashOutput", bash_id="bash_1", session="s-2")
    ats.equal(r.json["code"], "unknown_id")
    r = ask(101, "Bash", command="kill -9 $$", run_in_background=True)
    text = ""
    n = 101
    while "killed" not in text:
        n += 1
        text = ask(n, "BashOutput", bash_id="bash_2").payload.decode()
    ats.contains(text, "<exit_code>137</exit_code>")


@ats.test("background: filter shows matching lines only")
def _(home):
    h = attach(home)
    h.link.send("call.tool", 1, tool(home, "Bash", command="seq 100; touch done; sleep 300",
                                     run_in_background=True))
    h.link.expect("result", call=1)
    while not os.path.exists(os.path.join(home.ws, "done")):
        pass
    h.link.send("call.tool", 2, tool(home, "BashOutput", bash_id="bash_1", filter="^9.$"))
    r = h.link.expect("result", call=2)
    ats.equal(r.payload.decode(), "<status>running</status>\n<output>\n" +
              "\n".join(str(i) for i in range(90, 100)) + "\n</output>")
    h.link.send("call.tool", 3, tool(home, "BashOutput", bash_id="bash_1", filter="("))
    r = h.link.expect("result", call=3)
    ats.check(r.json.get("is_error"), r.payload)


@ats.test("background: KillShell lets EXIT traps run and ends the tree")
def _(home):
    h = attach(home)
    h.link.send("call.tool", 1, tool(home, "Bash", run_in_background=True, command=
                "trap 'echo bye > f' EXIT; touch up; setsid sleep 300 & sleep 300 & wait"))
    h.link.expect("result", call=1)
    while not os.path.exists(os.path.join(home.ws, "up")):
        pass
    h.link.send("call.tool", 2, tool(home, "KillShell", shell_id="bash_1"))
    r = h.link.expect("result", call=2)
    ats.contains(r.payload, b"bash_1 was ended")
    ats.equal(home.read("f"), b"bye\n")
    ats.check(not any(ats.comm(p) == "sleep" for p in ats.descendants(h.proc.pid)), "sleep lives")


@ats.test("background: an endless yes fills neither disk nor memory and outlives a link")
def _(home):
    h = attach(home)
    front = front_of(h)
    h.link.send("call.tool", 1, tool(home, "Bash", command="yes", run_in_background=True))
    h.link.expect("result", call=1)
    link, n = h.link, 1
    end = time.monotonic() + 20
    total = 0
    while total < 200 * MIB:
        n += 1
        link.send("call.tool", n, tool(home, "BashOutput", bash_id="bash_1"))
        r = link.expect("result", call=n)
        total += r.json["output"]["new_bytes"] + r.json["output"].get("lost_bytes", 0)
        ats.check(time.monotonic() < end, "yes has printed %d only" % total)
    link.close()
    link = h.connect()
    _, ready = link.hello_as_brain(epoch=2)
    ats.equal(ready.json["shells"], [{"id": "bash_1", "session": SESSION}])
    used = sum(os.stat(os.path.join(h.state_dir, "spill", f)).st_blocks * 512
               for f in os.listdir(os.path.join(h.state_dir, "spill")))
    ats.check(used <= 65 * MIB, "%d bytes on disk" % used)
    ats.small(private_kib(front), 3000, "KiB of front")
    link.send("call.tool", 9999, tool(home, "KillShell", shell_id="bash_1"))
    link.expect("result", call=9999)
    link.close()


@ats.test("background: over the limit a start is refused")
def _(home):
    h = attach(home)
    for i in range(1, 17):
        h.link.send("call.tool", i, tool(home, "Bash", command="sleep 300",
                                         run_in_background=True))
        ats.check(not h.link.expect("result", call=i).json.get("is_error"), i)
    h.link.send("call.tool", 17, tool(home, "Bash", command="sleep 300", run_in_background=True))
    ats.equal(h.link.expect("result", call=17).json["code"], "table_full")
    h.link.send("call.tool", 18, tool(home, "Bash", command="echo still"))
    ats.equal(h.link.expect("result", call=18).payload, b"still")


ats.main()
