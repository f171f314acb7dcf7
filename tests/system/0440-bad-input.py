#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong workspaces, ids, configurations and full disks: one clear line and the right code, and
what worked goes on working."""
import contextlib
import json
import os
import pwd
import re
import socket
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def refused(home, *args, code=125, says=None, **kw):
    """atsctl fails with that code and exactly one line on stderr, of the known form."""
    r = home.ctl(*args, **kw)
    err = r.stderr.decode("utf-8", "replace")
    ats.equal((r.returncode, err.count("\n")), (code, 1), "%r: %s" % (args, err))
    ats.check(err.startswith("atsctl: "), err)
    if says:
        ats.matches(err, says, args)
    return err


def exec_in(home, ws, **kw):
    return refused(home, "exec", "--workspace", ws, "--", "true", **kw)


# ---- workspaces -----------------------------------------------------------------------------

@ats.test("workspaces that are refused, each with its reason; the brain goes on", users=True)
def _(home):
    home.write("file", "x")
    home.write("secret/x", "x")
    locked = os.path.join(home.ws, "secret")
    exec_in(home, os.path.join(home.dir, "none"), says="none")
    exec_in(home, os.path.join(home.ws, "file"), says="file")
    exec_in(home, "/", says="/")
    exec_in(home, home.home, says="home")
    exec_in(home, home.dir, says=".")
    for d in (home.state, home.config, home.run, os.path.join(home.run, "ats"),
              os.path.join(home.state, "ats")):
        exec_in(home, d, says=".")
    inside = os.path.join(home.state, "ats", "sandbox")
    exec_in(home, inside, says=".")
    link = os.path.join(home.dir, "link")
    os.symlink("/", link)
    exec_in(home, link, says=".")
    if home.uid is not None:
        os.chown(locked, 0, 0)
        os.chmod(locked, 0)
        exec_in(home, locked, says=".")
        os.chmod(locked, 0o700)
    real = pwd.getpwuid(os.getuid()).pw_dir
    if home.uid is None and real != "/" and os.path.isdir(real):
        exec_in(home, real, says=".")
    exec_in(home, "/proc", says=".")
    ats.equal(home.ctl("exec", "--", "echo", "on", code=0).stdout, b"on\n")


@ats.test("mcp in a refused workspace: a line on stderr, not a hang")
def _(home):
    for ws in ("/", os.path.join(home.dir, "none")):
        mcp = home.mcp(workspace=ws)
        code, err = mcp.end()
        ats.check(code != 0 and err.count(b"\n") == 1 and err.startswith(b"atsctl: "), err)


@ats.test("a workspace with an odd name", users=True)
def _(home):
    for name in (" a b ", "new\nline", "\u4f60\u597d", "quote'\"$x`", "-rf", "a,b=c:d", "x" * 200):
        d = os.path.join(home.ws, name)
        os.mkdir(d)
        if home.uid is not None:
            os.chown(d, home.uid, home.uid)
        r = home.ctl("exec", "--workspace", d, "--", "sh", "-c", "pwd; echo x > f", code=0)
        ats.equal(r.stdout.decode(), d + "\n")
        ats.equal(os.listdir(d), ["f"])


@ats.test("a workspace that is removed in use, and comes back", users=True)
def _(home):
    ws = os.path.join(home.ws, "gone")

    def make():
        os.mkdir(ws)
        if home.uid is not None:
            os.chown(ws, home.uid, home.uid)
    make()
    mcp = home.mcp(workspace=ws)
    mcp.initialize()
    mcp.text("Bash", command="true")
    os.rmdir(ws)
    r = mcp.tool("Bash", {"command": "echo here"})
    ats.check(r["content"][0]["text"], r)
    r = mcp.tool("Write", {"file_path": "a", "content": "x"})
    ats.check(r.get("isError"), "written into a removed workspace: %r" % r)
    exec_in(home, ws, says="gone")
    make()
    ats.equal(home.ctl("exec", "--", "echo", "on", code=0).stdout, b"on\n")


# ---- brains ---------------------------------------------------------------------------------

@ats.test("a second brain says so; a stale socket is no obstacle", users=True)
def _(home):
    home.ctl("exec", "--", "true", code=0)
    runtime, state = os.path.join(home.run, "ats"), os.path.join(home.state, "ats")
    r = subprocess.run([*home.prefix, ats.program("ats-brain"), "--runtime", runtime, "--state",
                        state], env=home.env, stdout=subprocess.PIPE, check=False,
                       stderr=subprocess.PIPE, timeout=ats.TIMEOUT)
    ats.equal(r.returncode, 1)
    ats.contains(r.stderr, b"runs")
    everything = [home.brain_pid(), *ats.descendants(home.brain_pid())]
    for pid in everything:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    ats.wait_gone(everything)
    ats.check(os.path.exists(home.door_path), "no stale socket to try with")
    refused(home, "--no-start", "exec", "--", "true", says=".")
    ats.equal(home.ctl("status").returncode, 3)
    ats.equal(home.ctl("exec", "--", "echo", "on", code=0).stdout, b"on\n")


@ats.test("--no-start starts nothing; status and shutdown say that none runs", users=True)
def _(home):
    for args in (("exec", "--", "true"), ("call", "Read", "{}"), ("mcp",)):
        refused(home, "--no-start", *args, says="start|run")
    ats.equal(home.ctl("status").returncode, 3)
    ats.equal(home.ctl("--json", "status").returncode, 3)
    ats.check(not home.ours(), "something was started")
    ats.check(home.ctl("shutdown").returncode in (0, 3))


@ats.test("sockets of somebody else are not trusted")
def _(home):
    if os.geteuid() != 0:
        ats.skip("only root can give files away")
    os.mkdir(os.path.join(home.run, "ats"), 0o700)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(home.vault_path)
    os.seteuid(ats.OTHER_UID)           # whose name the socket has from here on
    try:
        s.listen(1)
    finally:
        os.seteuid(0)
    exec_in(home, home.ws, says="another user")
    ats.equal(home.ctl("status").returncode == 0, False)
    s.close()


@ats.test("an idle brain leaves and is started again", users=True)
def _(home):
    home.configure({"idle_exit_s": 1})
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Bash", command="cd /tmp")
    everything = [home.brain_pid(), *ats.descendants(home.brain_pid())]
    ats.check(ats.wait_gone(everything[:1], 2.5), "it left under a client")
    mcp.end()
    ats.equal(ats.wait_gone(everything, 10), [])
    ats.equal(home.ctl("exec", "--", "echo", "on", code=0).stdout, b"on\n")


# ---- ids, tools, arguments ------------------------------------------------------------------

@ats.test("unknown sessions, ids, tools, commands and options")
def _(home):
    home.ctl("exec", "--", "true", code=0)
    refused(home, "exec", "--session", "s-0123456789ab", "--", "true", says="s-0123456789ab|session")
    refused(home, "call", "--session", "s-0123456789ab", "Read", '{"file_path":"a"}', says=".")
    for id in ("s-0123456789ab", "b-0123456789ab", "c-999999", "nonsense", "", "\x1b[31m"):
        err = refused(home, "inspect", id, code=1)
        ats.missing(err, "\x1b")
    r = home.ctl("call", "NoSuchTool", "{}")
    ats.check(r.returncode in (1, 125), r)
    ats.contains(r.stdout + r.stderr, b"NoSuchTool")
    r = home.ctl("call", "Read", '{"file_path":"none"}')
    ats.equal(r.returncode, 1)
    ats.contains(r.stdout + r.stderr, b"none")
    for bad in ("{", "[]", "7", "", '{"file_path":"a","file_path":"b"}', '{"a":NaN}', "{}x"):
        r = home.ctl("call", "Read", bad)
        ats.check(r.returncode in (1, 2, 125) and (r.stdout or r.stderr), (bad, r))
    for args in (("nonsense",), ("exec", "--bogus", "--", "true"), ("exec", "--"), ("exec",),
                 ("call",), ("call", "Read"), ("exec", "--timeout", "soon", "--", "true"),
                 ("inspect",), ("session", "bogus")):
        r = home.ctl(*args)
        ats.check(r.returncode in (2, 125) and r.stderr.startswith(b"atsctl: "), (args, r))
    ats.equal(home.ctl("exec", "--", "echo", "on", code=0).stdout, b"on\n")


@ats.test("lines that are no JSON-RPC are answered, and the next one works")
def _(home):
    mcp = home.mcp()
    mcp.initialize()
    for line, code in ((b"{\n", -32700), (b"7\n", -32600),
                       (b'{"jsonrpc":"2.0","id":9,"method":"no/such"}\n', -32601),
                       (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":7}\n', -32600),
                       (b'\xff\xfe\n', -32700), (b"[]\n", -32600), (b'"\\ud800"\n', None)):
        mcp.proc.stdin.write(line)
        m = mcp.message()
        ats.check("error" in m, (line, m))
        if code:
            ats.equal(m["error"]["code"], code, line)
    ats.equal(mcp.text("Bash", command="echo on"), "on")
    mcp.proc.stdin.write(b'{"jsonrpc":"2.0","id":77,"method":"ping","x":"' + b"y" * (17 << 20) +
                         b'"}\n')
    ats.check("error" in mcp.message(), "a line over the limit")
    ats.equal(mcp.text("Bash", command="echo on"), "on")


def answers(home, data):
    """What mcp prints for that input, which then ends: (id, error code or None) of each."""
    r = home.ctl("mcp", input=data, code=0)
    lines = [json.loads(x) for x in r.stdout.split(b"\n") if x]
    return [(m["id"], m.get("error", {}).get("code")) for m in lines]


@ats.test("what ends with a line that is no JSON-RPC is answered before mcp leaves")
def _(home):
    none = [(None, -32700)]
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    began = time.monotonic()
    for data, want in (
            (b"garbage\n", none), (b"garbage", none), (b"\n\ngarbage\n\r\n", none),
            (b"\xff\n", none), (b"a\0b\n", none), (b"garbage\n" * 20000, none * 20000),
            (b"[1]\n", [(None, -32600)]), (b"[]", [(None, -32600)]), (b"7\n", [(None, -32600)]),
            (b"[" + ping + b"]\n", [(None, -32600)]),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', [(None, -32600)]),
            (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', [(None, -32600)]),
            (b'{"method":"notifications/initialized"}\n', [(None, -32600)]),
            (b'{"jsonrpc":"2.0","id":5}\n', [(5, -32600)]),
            (b'{"jsonrpc":"2.0","id":5,"result":{}}\n', []), (b"", []), (b" \n\n", []),
            (b"x\n" + ping + b"\ny", [(None, -32700), (1, None), (None, -32700)])):
        ats.equal(answers(home, data), want, data[:80])
    batch = [b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":'
             b'"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}',
             b"[7, " + ping + b', {"jsonrpc":"2.0","id":[],"method":"ping"}]\n']
    r = home.ctl("mcp", input=b"\n".join(batch), code=0)
    last = json.loads(r.stdout.splitlines()[-1])
    ats.equal([m["id"] for m in last], [None, 1, None])
    # each left when it had its answers, not when its time was over
    ats.check(time.monotonic() - began < 20, time.monotonic() - began)


# ---- configuration --------------------------------------------------------------------------

@ats.test("a configuration with a mistake: named, exit 2 and 125, nothing runs", users=True)
def _(home):
    for value, says in (({"no_such_key": 1}, "no_such_key"),
                        ({"idle_exit_s": "soon"}, "idle_exit_s"),
                        ({"idle_exit_s": -1}, "idle_exit_s"),
                        ({"sandbox": {"bogus": 1}}, "bogus"),
                        ({"sandbox": 7}, "sandbox"),
                        ({"sandbox": {"env": {"A": 1}}}, "env"),
                        ({"sandbox": {"min_level": "any"}}, "min_level"),
                        ("{", "brain.json"), ("[]", "brain.json"), ("", "brain.json"),
                        ('{"idle_exit_s":1,"idle_exit_s":2}', "twice")):
        home.configure(value)
        refused(home, "config", "check", code=2, says=re.escape(says))
        refused(home, "exec", "--", "true", says=re.escape(says))
        ats.equal(ats.wait_gone(home.ours(), 5), [], "runs with a bad configuration")
    home.configure('/* a comment */ {\n  // another\n  "sandbox": {"env": {"MINE": "1"}}}')
    home.ctl("config", "check", code=0)
    ats.equal(home.ctl("exec", "--", "sh", "-c", "echo $MINE", code=0).stdout, b"1\n")


def keys():
    """Every key of the configuration: (name, type, minimum, maximum)."""
    with open(os.path.join(ats.TOP, "brain/config.def"), encoding="utf-8") as f:
        rows = re.findall(r'(?m)^CONF\("([\w.]+)", \w+, (\w+), \d+, (\d+), (\d+),', f.read())
    ats.check(len(rows) > 50, rows)
    return [(n, t, int(a), int(b)) for n, t, a, b in rows]


def nested(name, value):
    for part in reversed(name.split(".")):
        value = {part: value}
    return value


@ats.test("every key refuses a value of another type, and a number out of its range, by its name")
def _(home):
    wrong = {"U64": ("7", True, 1.5, -1, [1], {}, None), "BOOL": (1, "true", [], {}, None),
             "STR": (1, True, [], {}, None), "STRV": ("a", 1, {}, [1], True, None),
             "ARGVS": ("a", 1, [], {"x": "a"}, {"x": [1]}, True), "ENV": ("a", 1, [], {"x": 1}, True),
             "JSON": ("a", 1, [], True)}
    ats.equal({t for _, t, _, _ in keys()} - set(wrong), set())
    for name, kind, low, high in keys():
        values = list(wrong[kind])
        if kind == "U64":
            values += [high + 1, 1 << 64] + ([low - 1] if low > 0 else [])
        for value in values:
            home.configure(nested(name, value))
            r = home.ctl("config", "check", code=2)
            ats.check(r.stderr.count(b"\n") == 1 and name.encode() in r.stderr,
                      (name, value, r.stderr))
            ats.contains(r.stderr.decode(), "brain.json")


@ats.test("two that contradict are refused together: rules, and keys that need or exclude another")
def _(home):
    def rules(**lists):
        return {"permissions": {k: v if isinstance(v, list) else [v] for k, v in lists.items()}}
    for value, says in (
            (rules(deny="Bash(x)", allow="Bash(x)"), r'allow": entry 1: "Bash\(x\)" stands in '
             r'"permissions\.deny", too, which wins: take it out'),
            (rules(deny=["A", "Edit"], ask=["Bash", "Edit"]), r'deny": entry 1: '),
            (rules(deny=["Read", "Edit"], ask=["Bash", "Edit"]), r'ask": entry 2: "Edit" .*deny'),
            (rules(ask="Bash", allow="Bash"), r'allow": entry 1: "Bash" .*"permissions\.ask"'),
            ({"sandbox": {"url": "unix:/x", "network": "host"}}, r"sandbox\.network.*remove it"),
            ({"sandbox": {"url": "exec:no"}}, r"sandbox\.url.*commands"),
            ({"sandbox": {"warm": 1}}, r"sandbox\.warm.*script:"),
            ({"http": {"listen": ["127.0.0.1:1"]}}, r"http\.(token_file|workspace)")):
        home.configure(value)
        refused(home, "config", "check", code=2, says=r"brain\.json.*" + says)
        refused(home, "exec", "--", "true", says=says)
    # A wide rule and a narrow one of another list are what lists are for.
    home.configure(rules(deny="Bash(git push:*)", ask="Bash(git push)", allow="Bash"))
    home.ctl("config", "check", code=0)
    ats.equal(ats.wait_gone(home.ours(), 5), [])


@ats.test("a configuration that others may write is refused, with what to do", users=True)
def _(home):
    home.configure({})
    path = os.path.join(home.config, "ats", "brain.json")
    for mode in (0o666, 0o620):
        os.chmod(path, mode)
        refused(home, "config", "check", code=2, says=r"brain\.json: others may write it.*chmod go-w")
        refused(home, "exec", "--", "true", says="others may write it")
    os.chmod(path, 0o644)
    home.ctl("config", "check", code=0)
    if os.geteuid() == 0:
        os.chown(path, 12346, 12346)
        refused(home, "config", "check", code=2, says=r"brain\.json: belongs to uid 12346.*chown it")
    ats.equal(ats.wait_gone(home.ours(), 5), [])


@ats.test("a mistake is told with its file, and the line where the text is wrong", users=True)
def _(home):
    for value, says in (('{\n  "idle_exit_s": 1,\n  nope\n}', r"brain\.json: line 3"),
                        ('{\n\n "permissions": {"deny": ["Bash("]}}', r"brain\.json: line 3: .permissions\.deny"),
                        ('{ /* "sandbox": no */\n "idle_exit_s": 1,\n "sandbox": {\n  "bogus": 1}}',
                         r"brain\.json: line 4: unknown key .sandbox\.bogus"),
                        ('{\n "idle_exit_s": "soon"}', r"brain\.json: line 2: .idle_exit_s")):
        home.configure(value)
        refused(home, "config", "check", code=2, says=says)


# ---- the state directory ----------------------------------------------------------------------

@ats.test("a state directory, or a journal, of a newer version is refused and left as it is", users=True)
def _(home):
    home.ctl("exec", "--", "true", code=0)
    home.ctl("shutdown", code=0)
    path = os.path.join(home.state, "ats", "format")
    with open(path, encoding="ascii") as f:
        ats.equal(f.read(), "1\n")
    for text, says in (("2\n", "is of a newer agent-tool-server .format 2"), ("x", "not a number")):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        refused(home, "exec", "--", "true", says=says)
        with open(path, encoding="ascii") as f:
            ats.equal(f.read(), text)
    with open(path, "w", encoding="ascii") as f:
        f.write("1\n")
    journal = os.path.join(home.state, "ats", "engine", "journal.db")
    db = sqlite3.connect(journal)
    db.execute("PRAGMA user_version=2")
    db.close()
    refused(home, "exec", "--", "true", says="the engine ends while it starts")
    with open(home.log_path, encoding="utf-8") as f:
        ats.contains(f.read(), "was written by a newer ats-engine")
    ats.equal([x for x in os.listdir(os.path.dirname(journal)) if "damaged" in x], [])
    db = sqlite3.connect(journal)
    ats.equal(db.execute("PRAGMA user_version").fetchone(), (2,))
    db.close()


@ats.test("a state directory of another user, or of one that others may enter, is refused")
def _(home):
    if os.geteuid() != 0:
        ats.skip("only root can give directories away")
    state = os.path.join(home.state, "ats")
    os.mkdir(state, 0o700)
    os.chown(state, 12345, 12345)
    refused(home, "exec", "--", "true", says="belongs to uid 12345")
    os.chown(state, 0, 0)
    os.chmod(state, 0o755)
    refused(home, "exec", "--", "true", says="chmod 700 it")
    ats.equal(os.listdir(state), [])


@ats.test("a state directory on a read-only disk: one line")
def _(home):
    with tmpfs(home.state, 1 << 20):
        os.mkdir(os.path.join(home.state, "ats"), 0o700)
        subprocess.run(["mount", "-o", "remount,ro", home.state], check=True)
        refused(home, "exec", "--", "true", says="Read-only file system")


# ---- full disks -----------------------------------------------------------------------------

@contextlib.contextmanager
def tmpfs(path, size):
    if os.geteuid() != 0:
        ats.skip("only root can mount")
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d,mode=700" % size, "ats-test", path],
                       stderr=subprocess.PIPE, check=False)
    if r.returncode:
        ats.skip("no mounts here: %s" % r.stderr.decode().strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=False)


def fill(path):
    """Takes what is left of a file system; returns the file's name."""
    name = os.path.join(path, ".fill")
    with open(name, "wb", buffering=0) as f:
        for n in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while f.write(b"\0" * n):
                    pass
    return name


@ats.test("the workspace is full: the error says so, files stay whole")
def _(home):
    with tmpfs(home.ws, 4 << 20):
        home.write("old", "old\n" * 1000)
        mcp = home.mcp()
        mcp.initialize()
        mcp.text("Read", file_path="old")
        name = fill(home.ws)
        text = mcp.error("Write", file_path="new", content="x" * 100000)
        ats.matches(text.lower(), "space|full|quota")
        text = mcp.error("Edit", file_path="old", old_string="old\n", replace_all=True,
                         new_string="new and longer\n" * 9)
        ats.matches(text.lower(), "space|full|quota")
        ats.equal(home.read("old"), b"old\n" * 1000)
        ats.equal(sorted(os.listdir(home.ws)), [".fill", "old"])
        ats.contains(mcp.error("Bash", command="echo x > y && cat y"), "No space left")
        ats.contains(mcp.text("Grep", pattern="old", output_mode="count"), "1000")
        os.unlink(name)
        mcp.text("Write", file_path="new", content="x" * 100000)
        mcp.end()
        home.ctl("shutdown", code=0)


@ats.test("the state directory is full: calls are answered, truly, and go on after")
def _(home):
    with tmpfs(home.state, 4 << 20):
        mcp = home.mcp()
        mcp.initialize()
        mcp.text("Bash", command="true")
        name = fill(home.state)
        done = 0
        for i in range(20):
            r = mcp.tool("Bash", {"command": "echo %d >> log; echo did" % i})
            text = r["content"][0]["text"]
            done += not r.get("isError")
            ats.check(not r.get("isError") or text, r)
        lines = home.read("log").count(b"\n") if os.path.exists(home.ws + "/log") else 0
        ats.equal(lines, done, "calls that ran and said otherwise")
        print("# %d of 20 Bash calls ran with a full state directory" % done)
        r = mcp.tool("Bash", {"command": "seq 300000; echo the end"})
        print("# long output: %r" % r["content"][-1]["text"][-200:])
        mcp.tool("Read", {"file_path": "log"})
        r = home.ctl("status")
        ats.check(r.returncode in (0, 1), r)
        os.unlink(name)
        ats.equal(mcp.text("Bash", command="echo on"), "on")
        mcp.end()
        home.ctl("shutdown", code=0)


@ats.test("a brain that finds no space at its start says so")
def _(home):
    with tmpfs(home.state, 1 << 20):
        name = fill(home.state)
        r = home.ctl("exec", "--", "true")
        if r.returncode:
            ats.matches(r.stderr.decode().lower(), "space|full")
            ats.equal((r.returncode, r.stderr.count(b"\n")), (125, 1), r.stderr)
        os.unlink(name)
        ats.until(lambda: home.ctl("exec", "--", "true").returncode == 0, "space is found again")
        home.ctl("shutdown", code=0)


ats.main()
