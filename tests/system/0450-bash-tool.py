#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Bash tool and its background shells through the whole chain."""
import base64
import contextlib
import json
import os
import re
import struct
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

MIB = 1 << 20


def mcp_of(home, **kw):
    mcp = home.mcp(**kw)
    mcp.initialize()
    return mcp


def bash(mcp, command, **kw):
    """(text, isError)"""
    r = mcp.tool("Bash", {"command": command, **kw}, timeout=60)
    return "".join(c.get("text", "") for c in r["content"]), bool(r.get("isError"))


def plain(mcp, command, **kw):
    text, is_error = bash(mcp, command, **kw)
    ats.check(not is_error, text)
    return text


def background(mcp, command):
    text = plain(mcp, command, run_in_background=True)
    m = re.search(r"bash_\d+", text)
    ats.check(m, text)
    return m.group(0)


def output_until(mcp, id, pattern, timeout=30, **kw):
    """All that BashOutput gives until it matches."""
    seen = ""

    def more():
        nonlocal seen
        seen += mcp.text("BashOutput", bash_id=id, **kw) + "\n"
        return re.search(pattern, seen, re.S)
    ats.until(more, "/%s/ in the output of %s: %.2000r" % (pattern, id, seen), timeout)
    return seen


def below(home, name):
    return ats.find(home.brain_pid(), name)


@ats.test("the command is passed as it is", users=True)
def _(home):
    mcp = mcp_of(home)
    for command, want in (
            ("cat <<'E'\n$HOME `id` \\n \"q\" 'q'\nE", "$HOME `id` \\n \"q\" 'q'"),
            ("cat <<-E\n\t$((1+2))\n\tE", "3"),
            ("echo {a,b}{1..3}", "a1 a2 a3 b1 b2 b3"),
            ("diff <(echo a) <(echo a) && echo same", "same"),
            ("printf '%s|' \"a  b\" '$x' \\$x $'t\\tb'", "a  b|$x|$x|t\tb|"),
            ("x='a\nb'; echo \"$x\"", "a\nb"),
            ("echo \"$(echo \"$(echo deep)\")\"", "deep"),
            ("set -- 1 2; echo $# ${@:2}; [[ ab =~ ^a(.)$ ]] && echo ${BASH_REMATCH[1]}", "2 2\nb"),
            ("echo \u4f60\u597d \U0001f600", "\u4f60\u597d \U0001f600"),
            ("echo a; # a comment", "a"), ("echo a \\\n  b", "a b"),
            ("f() { echo in $1; }; f x", "in x"), ("! false; echo $?", "0"),
            ("echo $0 $#", "bash 0"), ("shopt -q expand_aliases; echo $?; echo $-", None)):
        text = plain(mcp, command)
        if want is not None:
            ats.equal(text, want, command)
    ats.contains(bash(mcp, "echo 'not closed")[0], "unexpected")


@ats.test("the directory persists, variables, functions and options do not", users=True)
def _(home):
    mcp = mcp_of(home)
    os.mkdir(os.path.join(home.ws, "d"))
    if home.uid is not None:
        os.chown(os.path.join(home.ws, "d"), home.uid, home.uid)
    plain(mcp, "cd d; export A=1; f() { :; }; set -e; alias l=ls; umask 0")
    ats.equal(plain(mcp, "pwd; echo [$A]; type f 2>&1 | wc -l; false; umask; echo end"),
              "%s/d\n[]\n1\n0022\nend" % home.ws)
    ats.contains(plain(mcp, "cd /usr"), "reset to %s/d" % home.ws)
    ats.equal(plain(mcp, "pwd"), home.ws + "/d")
    bash(mcp, "cd ..; exit 5")
    ats.equal(plain(mcp, "pwd"), home.ws)
    ats.equal(plain(mcp, "cd /tmp && pwd"), "/tmp")
    ats.equal(plain(mcp, "pwd"), "/tmp")


@ats.test("a directory that was removed: back at the workspace, with a note", users=True)
def _(home):
    mcp = mcp_of(home)
    plain(mcp, "mkdir d gone; cd gone")
    ats.contains(plain(mcp, "rmdir ../gone; echo ok"),
                 "removed; the next command runs in " + home.ws)
    ats.equal(plain(mcp, "echo ok; pwd"), "ok\n" + home.ws)
    plain(mcp, "mkdir gone; cd gone")
    os.rmdir(os.path.join(home.ws, "gone"))
    ats.contains(plain(mcp, "cd /; echo ok"), "does not exist any more")
    ats.equal(plain(mcp, "pwd"), home.ws)


@ats.test("questions get the end of input at once, there is no terminal", users=True)
def _(home):
    mcp = mcp_of(home)
    began = time.monotonic()
    for command in ("read -p 'sure? ' x; echo [$x]", "cat; echo end", "cat /dev/stdin; echo end",
                    "read x < /dev/tty; echo end", "python3 -c 'input()'; echo end",
                    "test -t 0 || test -t 1 || test -t 2 || echo end", "sudo -k; echo end"):
        text = bash(mcp, command, timeout=10000)[0]
        ats.matches(text, r"end$|\[\]$", command)
    ats.check(time.monotonic() - began < 8, "slow")


@ats.test("streams in order, exit codes, codes that are answers, silence", users=True)
def _(home):
    mcp = mcp_of(home)
    ats.equal(plain(mcp, "for i in 1 2 3; do echo o$i; echo e$i >&2; done"),
              "o1\ne1\no2\ne2\no3\ne3")
    ats.equal(bash(mcp, "echo why >&2; exit 7"), ("Exit code 7\nwhy", True))
    ats.equal(bash(mcp, "exit 255")[0].split("\n")[0], "Exit code 255")
    for command in ("echo a | grep b", "diff <(echo a) <(echo b)", "test 1 = 2", "[ -e none ]"):
        text, is_error = bash(mcp, command)
        ats.check(not is_error and text, "%s: %r" % (command, text))
    ats.check(bash(mcp, "grep x /none")[1], "grep 2 is an error")
    ats.check(bash(mcp, "false")[1])
    ats.check(plain(mcp, "true"), "silence is not said")
    ats.contains(bash(mcp, "kill -SEGV $$")[0], "SIGSEGV")
    ats.contains(bash(mcp, "no-such-command")[0], "Exit code 127")


@ats.test("a timeout ends the whole tree and returns what was printed", users=True)
def _(home):
    mcp = mcp_of(home)
    plain(mcp, "true")
    for command, ms in (
            ("mkfifo p; (while :; do echo c; sleep 1; done) > p & cat p", 2000),
            ("echo c; for i in 1 2; do sleep 7654 & done; sleep 60", 1000),
            ("echo c; setsid sleep 7654 & (nohup sleep 7654 &) ; (setsid bash -c 'trap \"\" TERM "
             "HUP; sleep 7654; sleep 7654' &); trap '' TERM; while :; do sleep 1; done", 1000)):
        began = time.monotonic()
        text, is_error = bash(mcp, command, timeout=ms)
        spent = time.monotonic() - began
        ats.check(is_error and "c" in text and re.search("time[d ]*out", text.lower()), text)
        ats.check(ms / 1000 - 0.1 < spent < ms / 1000 + 5, "took %.1f s: %s" % (spent, command))
        ats.equal(ats.wait_gone(below(home, "sleep 7654"), 5), [], command)
    ats.equal(plain(mcp, "echo on"), "on")


@ats.test("a child that holds the pipe does not hold the call, and is named", users=True)
def _(home):
    mcp = mcp_of(home)
    plain(mcp, "true")
    for command in ("sleep 7653 & echo x", "setsid sleep 7653 & echo x",
                    "(nohup sleep 7653 > /dev/null 2>&1 &); echo x",
                    "(setsid sh -c 'sleep 7653 & sleep 7653' &) ; echo x"):
        began = time.monotonic()
        text = plain(mcp, command)
        ats.check(time.monotonic() - began < 3, "slow: " + command)
        ats.contains(text, "x")
        ats.contains(text, "run_in_background", command)
        ats.equal(ats.wait_gone(below(home, "sleep 7653"), 5), [], command)


@ats.test("over 30,000 characters: head, marker, tail; Read pages the rest", users=True)
def _(home):
    mcp = mcp_of(home)
    text = plain(mcp, "echo first; seq 1 200000; echo the last line")
    ats.check(29000 < len(text) < 31500, len(text))
    ats.check(text.startswith("first\n1\n2\n"), text[:50])
    ats.contains(text, "the last line")
    path = re.search(r"/run/ats/spill/[^\s\])]+", text)
    ats.check(path, text[14000:16500])
    page = mcp.text("Read", file_path=path.group(0).rstrip(".,"), offset=100001, limit=2)
    ats.contains(page, "100001\t100000")
    text = plain(mcp, "for i in $(seq 50000); do printf '\u4f60'; done")
    ats.missing(text, "\ufffd")
    text = plain(mcp, "seq 10 | cat")
    ats.equal(text, "\n".join(str(i) for i in range(1, 11)))


@ats.test("characters split between two writes, bytes that are no text", users=True)
def _(home):
    mcp = mcp_of(home)
    text = plain(mcp, "python3 -c \"import os,time;os.write(1,b'\\xe2');time.sleep(.1);"
                 "os.write(1,b'\\x80\\x94')\"")
    ats.equal(text, "\u2014")
    ats.equal(plain(mcp, r"printf 'a\xffb\xe4\xbdc\xed\xa0\x80.'").count("\ufffd") > 1, True)
    ats.equal(plain(mcp, r"printf 'a\0b\x1b[0m'")[0], "a")


@ats.test("an output that is a data:image URL is an image")
def _(home):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(b"\0\xff\xff\xff")) + chunk(b"IEND", b""))
    home.write("url", b"data:image/png;base64," + base64.b64encode(png))
    mcp = mcp_of(home)
    r = mcp.tool("Bash", {"command": "cat url"})
    ats.equal([(c["type"], c.get("mimeType")) for c in r["content"]], [("image", "image/png")])
    ats.equal(base64.b64decode(r["content"][0]["data"]), png)
    # what else there is to say stands behind it
    r = mcp.tool("Bash", {"command": "cat url; cd /tmp; sleep 99 >/dev/null &"})
    ats.equal([c["type"] for c in r["content"]], ["image", "text"])
    ats.contains(r["content"][1]["text"], "run_in_background")


@ats.test("an image of megabytes is one too, what is none says why")
def _(home):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + os.urandom(3000) for _ in range(700))
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1000, 700, 8, 2, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
    home.write("i.png", png)
    mcp = mcp_of(home)
    r = mcp.tool("Bash", {"command": "echo \"data:image/png;base64,$(base64 i.png)\""}, timeout=60)
    ats.equal([c["type"] for c in r["content"]], ["image"])
    ats.equal(base64.b64decode(r["content"][0]["data"]), png)
    for command, why in (
            ("echo data:image/png\\;base64,$(head -c 90000 i.png | base64 -w0)", "cut off"),
            ("echo data:image/png\\;base64,aGVsbG8=", "it is no image"),
            ("printf 'data:image/png;base64,'; cat i.png i.png i.png | base64", "at most are looked at")):
        r = mcp.tool("Bash", {"command": command}, timeout=60)
        ats.equal([c["type"] for c in r["content"]], ["text"])
        ats.contains(r["content"][0]["text"], "data:image/png;base64,")
        ats.contains(r["content"][0]["text"], "shown as text")
        ats.contains(r["content"][0]["text"], why)


@ats.test("a command cannot end what runs it, nor other calls", users=True)
def _(home):
    mcp = mcp_of(home)
    plain(mcp, "true")
    front = below(home, "ats-front")
    beside = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "sleep 3; echo beside"}})
    for command in ("kill -9 $PPID; echo x", "kill -9 -1", "kill -9 1; echo x", "exec true",
                    "exit", "kill -9 $$", "exec 1>&- 2>&-; echo", "kill -STOP $PPID; echo x",
                    "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done 2>/dev/null"):
        bash(mcp, command, timeout=5000)
    # Bounded by its own timeout, which ends all of it.
    bash(mcp, "ulimit -u 200; f() { f | f & }; f; sleep 0.3", timeout=1000)
    ats.contains(mcp.answer(beside)["result"]["content"][0]["text"], "beside")
    ats.equal(plain(mcp, "echo on"), "on")
    ats.equal(below(home, "ats-front"), front)


@ats.test("1000 double forks leave no zombie", users=True)
def _(home):
    mcp = mcp_of(home)
    plain(mcp, "true")
    plain(mcp, "for i in $(seq 1000); do (true &) ; done; wait; echo done", timeout=60000)
    plain(mcp, "true")

    def zombies():
        out = []
        for p in ats.descendants(home.brain_pid()):
            try:
                with open("/proc/%d/stat" % p, encoding="latin-1") as f:
                    if f.read().rsplit(") ", 1)[1][0] == "Z":
                        out.append(ats.comm(p))
            except OSError:
                pass
        return out
    ats.until(lambda: not zombies(), "no zombies", 5)


# ---- what is seen from inside ---------------------------------------------------------------

SECRET = "planted-secret-3f9c1b"


@ats.test("the environment is small, and no secret of the host is in reach", users=True)
def _(home):
    for d in (home.home, home.config, home.state):
        name = os.path.join(d, "credentials")
        with open(name, "w", encoding="ascii") as f:
            f.write(SECRET + "-file")
        if home.uid is not None:
            os.chown(name, home.uid, home.uid)
    home.env.update({
        "ANTHROPIC_API_KEY": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET, "GH_TOKEN": SECRET,
        "SSH_AUTH_SOCK": "/tmp/" + SECRET, "LD_LIBRARY_PATH": "/" + SECRET,
        "BASH_ENV": "/" + SECRET, "http_proxy": "http://u:%s@localhost" % SECRET,
        "BASH_FUNC_f%%": "() { echo %s; }" % SECRET, "PROMPT_COMMAND": SECRET})
    mcp = mcp_of(home)
    env = dict(x.split("=", 1) for x in plain(mcp, "env -0 | tr '\\0' '\\n'").split("\n"))
    ats.equal(sorted(set(env) - {"_", "SHLVL", "OLDPWD"}), sorted([
        "PATH", "HOME", "TERM", "LANG", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD"]))
    ats.equal((env["TERM"], env["HOME"], env["PWD"]), ("dumb", "/home/agent", home.ws))
    part = "[%s]%s" % (SECRET[0], SECRET[1:])   # so that the search does not find itself
    text = bash(mcp, "grep -alr --exclude-dir=usr --exclude-dir=proc --exclude-dir=sys '%s' / "
                "2>/dev/null; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ "
                "2>/dev/null | tr '\\0' '\\n' | grep -a '%s'; set | grep '%s'; "
                "ls -d %s %s %s; echo looked" % (part, part, part, home.home, home.config,
                                                 home.state), timeout=60000)[0]
    ats.missing(text, SECRET)
    ats.contains(text, "looked")
    ats.equal(text.count("cannot access"), 3, text)
    brain = home.brain_pid()
    for pid in [brain, *ats.descendants(brain)]:
        with contextlib.suppress(OSError), open("/proc/%d/environ" % pid, "rb") as f:
            ats.missing(f.read(), SECRET.encode(), ats.comm(pid))
    for root, _, names in os.walk(home.state):
        for name in names:
            path = os.path.join(root, name)
            if name == "credentials" or not os.path.isfile(path):   # or a socket
                continue
            with open(path, "rb") as f:
                ats.missing(f.read(), SECRET.encode(), name)
    r = home.ctl("exec", "--", "env")
    ats.missing(r.stdout, SECRET.encode())
    ats.missing(r.stdout, b"LD_")


@ats.test("no network, no host process, no host /tmp", users=True)
def _(home):
    mcp = mcp_of(home)
    ats.check(bash(mcp, "exec 3<>/dev/tcp/1.1.1.1/53", timeout=5000)[1])
    mark = os.path.join(os.path.dirname(home.dir), "ats-host-mark-%d" % os.getpid())
    with open(mark, "w", encoding="ascii"):
        pass
    try:
        ats.check(bash(mcp, "ls " + mark)[1])
    finally:
        os.unlink(mark)
    ats.check(int(plain(mcp, "ls -d /proc/[0-9]* | wc -l")) < 6)
    ats.check(bash(mcp, "kill -0 %d" % os.getpid())[1])
    ats.check(bash(mcp, "echo x > /etc/x || echo x > /usr/x")[1])


# ---- background -----------------------------------------------------------------------------

@ats.test("background: an id at once, only what is new, then the code", users=True)
def _(home):
    mcp = mcp_of(home)
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    began = time.monotonic()
    id = background(mcp, "echo one; cat go; echo three >&2; exit 7")
    ats.check(time.monotonic() - began < 2)
    text = output_until(mcp, id, "one")
    ats.contains(text, "running")
    ats.missing(mcp.text("BashOutput", bash_id=id), "one")
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("two\n")
    text = output_until(mcp, id, "(failed|completed|killed)")
    ats.matches(text, r"two.*three|three.*two")
    ats.matches(text, r"failed")
    ats.matches(text, r"\b7\b")
    ats.missing(text, "one")


@ats.test("background: 0, killed, filter, unknown ids, several at a time", users=True)
def _(home):
    mcp = mcp_of(home)
    ids = [background(mcp, "echo n%d" % i) for i in range(5)]
    ats.equal(len(set(ids)), 5)
    for i, id in enumerate(ids):
        ats.contains(output_until(mcp, id, "completed"), "n%d" % i)
    id = background(mcp, "kill -9 $$")
    ats.contains(output_until(mcp, id, "killed|failed"), "137")
    id = background(mcp, "seq 100; echo end; sleep 1000")
    output_until(mcp, id, "end")
    id = background(mcp, "seq 100")
    text = output_until(mcp, id, "completed", filter="^9[0-3]$")
    ats.equal(re.findall(r"^\d+$", text, re.M), ["90", "91", "92", "93"], text)
    ats.contains(mcp.error("BashOutput", bash_id=id, filter="("), "filter")
    ats.contains(mcp.error("BashOutput", bash_id="bash_999"), "bash_999")
    ats.contains(mcp.error("KillShell", shell_id="bash_999"), "bash_999")


@ats.test("KillShell: TERM first so that traps run, then the whole tree", users=True)
def _(home):
    mcp = mcp_of(home)
    id = background(mcp, "trap 'echo bye > f' EXIT; setsid sleep 7651 & sleep 7651 & "
                    "echo up; wait")
    output_until(mcp, id, "up")
    ats.until(lambda: len(below(home, "sleep 7651")) == 2, "both")
    tree = below(home, "sleep 7651")
    mcp.text("KillShell", shell_id=id)
    ats.equal(ats.wait_gone(tree, 10), [])
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "f")), "the trap ran", 5)
    ats.equal(home.read("f"), b"bye\n")
    ats.contains(output_until(mcp, id, "killed"), "killed")
    id = background(mcp, "trap '' TERM; echo up; while :; do sleep 0.1; done")
    output_until(mcp, id, "up")
    mcp.text("KillShell", shell_id=id)
    output_until(mcp, id, "killed")


@ats.test("TaskOutput waits for the end or its time; TaskStop ends", users=True)
def _(home):
    mcp = mcp_of(home)
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    id = background(mcp, "echo one; cat go; exit 3")
    output_until(mcp, id, "one")
    began = time.monotonic()
    ats.contains(mcp.text("TaskOutput", task_id=id, block=False), "running")
    r = mcp.tool("TaskOutput", {"task_id": id, "timeout": 300})
    ats.contains(r["content"][0]["text"], "running")
    ats.check(not r.get("isError"), r)
    ats.check(0.25 < time.monotonic() - began < 10)
    waiting = mcp.send("tools/call", {"name": "TaskOutput", "arguments": {"task_id": id}})
    ats.contains(plain(mcp, "echo meanwhile"), "meanwhile")
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("two\n")
    text = mcp.answer(waiting, 20)["result"]["content"][0]["text"]
    ats.matches(text, r"failed.*<exit_code>3<.*two")
    ats.missing(text, "one")
    id = background(mcp, "trap 'echo bye' EXIT; echo up; sleep 7652 & wait")
    output_until(mcp, id, "up")
    tree = below(home, "sleep 7652")
    mcp.text("TaskStop", task_id=id)
    ats.equal(ats.wait_gone(tree, 10), [])
    ats.matches(mcp.text("TaskOutput", task_id=id), r"killed.*bye")
    ats.contains(mcp.error("TaskOutput", task_id="bash_999"), "bash_999")
    ats.contains(mcp.error("TaskStop", task_id="bash_999"), "bash_999")


@ats.test("a background shell that prints without end does not fill the disk", users=True)
def _(home):
    mcp = mcp_of(home)
    id = background(mcp, "yes 0123456789abcdef0123456789abcdef | head -c 300000000; echo; "
                    "echo the end")

    def disk():
        total = 0
        for root, _, names in os.walk(home.state):
            for n in names:
                try:
                    total += os.lstat(os.path.join(root, n)).st_blocks * 512
                except OSError:
                    pass
        return total
    largest = 0

    def ended():
        nonlocal largest
        largest = max(largest, disk())
        return not below(home, "yes")
    ats.until(lambda: below(home, "yes"), "it starts")
    ats.until(ended, "300 MB are printed", 60)
    print("# at most %.1f MiB on disk" % (largest / MIB))
    ats.check(largest < 80 * MIB, "%d bytes on disk" % largest)
    text = output_until(mcp, id, "completed", 30)
    ats.contains(text, "the end")
    ats.matches(text, r"\n\[[^\n]*\d+[^\n]*\]\n", "no marker where it was cut")
    for pid in ats.descendants(home.brain_pid()):
        with contextlib.suppress(OSError), \
                open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            rss = re.search(r"RssAnon:\s+(\d+)", f.read())
            ats.check(rss is None or int(rss.group(1)) < 32 << 10, ats.comm(pid))


def sandbox(home):
    return json.loads(home.ctl("--json", "status").stdout)["engine"]["sandboxes"][0]


@ats.test("background shells outlive the engine, and are told of when hands is gone")
def _(home):
    import kills
    mcp = mcp_of(home)
    id = background(mcp, "echo up; sleep 1000")
    output_until(mcp, id, "up")
    os.kill(kills.of_role(home, "engine")[-1], 9)
    ats.contains(mcp.text("BashOutput", bash_id=id), "running")
    os.kill(kills.of_role(home, "front")[-1], 9)
    # A command sent into the broken link would be unknown, and rightly so.
    ats.until(lambda: sandbox(home)["losses"] > 0, "the loss is noticed")
    ats.contains(plain(mcp, "echo on"), "on")
    ats.contains(mcp.error("BashOutput", bash_id=id), id)


ats.main()
