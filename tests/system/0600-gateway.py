#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools of the host from the door and from inside the sandbox, with the real programs: the
credential does its work and is nowhere to be seen; what needs a person waits for one; nothing
that arrives through engine or shim is an approval."""
import base64
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import shim_client
import upstream

PASSWORD = "correct-horse-7f3a9c2e-battery"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def configure(home, server, **more):
    secret = os.path.join(home.dir, "password")
    with open(secret, "w", encoding="ascii") as f:
        f.write(PASSWORD + "\n")
    os.chmod(secret, 0o600)
    tool = {"description": "Sends text.", "input": TEXT, "method": "POST", "path": "/echo",
            "body": "json"}
    git = {"type": "object", "properties": {"repo": {"type": "string"},
                                            "file": {"type": "string"}},
           "required": ["repo", "file"]}
    home.configure({
        "credentials": {"upstream": {"file": secret}},
        "gateways": {"web": {
            "kind": "http", "url": server.url, "credential": "upstream", "auth": "basic:agent",
            "allow_private": True,
            "tools": {
                "post": tool,
                "look": {**tool, "method": "GET", "body": None, "path": "/at/{text}",
                         "read_only": True},
                "leak": {"description": "x", "input": {"type": "object"}, "method": "GET",
                         "path": "/leak", "read_only": True},
                "never": {**tool, "permission": "deny"},
                "git": {"description": "A file of a repository.", "input": git, "method": "GET",
                        "path": "/git/{repo}/{file}", "read_only": True}}}},
        **more})
    # null is no value of a body
    path = os.path.join(home.config, "ats", "brain.json")
    with open(path, encoding="utf-8") as f:
        conf = json.load(f)
    del conf["gateways"]["web"]["tools"]["look"]["body"]
    home.configure(conf)


@contextlib.contextmanager
def world(home, **more):
    repos = os.path.join(home.dir, "repos")
    os.mkdir(repos)
    git = ["git", "-C", os.path.join(repos, "p.git"), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", "init", "-q", "--bare", git[2]], check=True)
    tree = subprocess.check_output([*git, "mktree"], input=b"", text=False).decode().strip()
    commit = subprocess.check_output([*git, "commit-tree", "-m", "first", tree]).decode().strip()
    subprocess.run([*git, "update-ref", "HEAD", commit], check=True)
    server = upstream.Upstream(PASSWORD, root=repos)
    try:
        configure(home, server, **more)
        home.write("client.py", shim_client.CLIENT)
        home.start()
        yield server
    finally:
        server.close()


def inside(home, *args):
    """What the client in the sandbox printed, decoded."""
    r = home.ctl("exec", "--", "python3", "client.py", *args, code=0)
    return json.loads(r.stdout)


def text_of(answer):
    return "".join(b.get("text", "") for b in answer["result"]["content"])


def waiting(home, n=1):
    """The approvals that wait, when there are n."""
    found = []

    def look():
        found[:] = [json.loads(line) for line in
                    home.ctl("--json", "approvals", code=0).stdout.splitlines()]
        return len(found) == n
    ats.until(look, "%d approvals wait" % n)
    return found


def at_terminal(home, *args, answer=b"y\n"):
    """atsctl with a terminal, on which somebody types: (exit status, what it showed)."""
    main, other = pty.openpty()
    p = subprocess.Popen([ats.program("atsctl"), *args], env=home.env, cwd=home.ws, stdin=other,
                         stdout=other, stderr=other, start_new_session=True,
                         preexec_fn=lambda: __import__("fcntl").ioctl(0, 0x540E, 0))
    os.close(other)
    shown = b""
    # What is typed before the question does not count.
    with contextlib.suppress(OSError):
        while data := os.read(main, 65536):
            shown += data
            if answer and b"[y/N]" in shown:
                os.write(main, answer)
                answer = b""
    os.close(main)
    return p.wait(), shown.decode()


def in_thread(fn, *args):
    out = []
    t = threading.Thread(target=lambda: out.append(fn(*args)), daemon=True)
    t.start()
    return t, out


@ats.test("a tool of the host works from the door and from inside, and shows no password")
def _(home):
    with world(home) as server:
        listed = inside(home)
        ats.check({"web__look", "web__post", "web__git"} <= {t["name"] for t in listed}, listed)
        ats.check(all(set(t) <= {"name", "description", "inputSchema", "annotations", "title"}
                      for t in listed), listed)
        got = inside(home, "web__look", '{"text": "a..b?c=d#e&f %2F"}')
        ats.check(not got["result"].get("isError"), got)
        ats.check(server.asked[-1][1] == "/at/a..b%3Fc%3Dd%23e%26f%20%252F", server.asked)
        for way_out in ("../x", "..", "", "a\\b", "a\nb"):
            got = inside(home, "web__look", json.dumps({"text": way_out}))
            ats.check(got["result"]["isError"], got)
        ats.check(len(server.asked) == 1, server.asked)
        got = inside(home, "web__git", '{"repo": "p.git", "file": "HEAD"}')
        ats.check(text_of(got).startswith("ref: refs/heads/"), got)
        door = home.ctl("--json", "gateway", "call", "web__look", '{"text": "x"}', code=0)
        ats.check(b"/at/x" in door.stdout, door.stdout)
        leak = text_of(inside(home, "web__leak", "{}"))
        ats.check("authorization" in leak and PASSWORD not in leak, leak)
        for before in (b"", b"x", b"xy", b"agent:"):
            coded = base64.b64encode(before + PASSWORD.encode()).decode()
            ats.check(coded[len(before) * 4 // 3 + 2:-4] not in leak, leak)
        ats.check(server.refused == 0, "it was asked without the password")
        everything = home.ctl("exec", "--", "sh", "-c", "env; cat /proc/*/environ /run/ats/*.json "
                              "2>/dev/null; find / -xdev -type f -size -64k -newer /proc/1 "
                              "-exec cat {} + 2>/dev/null; true", code=0).stdout
        ats.check(PASSWORD.encode() not in everything, "the password is in the sandbox")


@ats.test("what changes something waits for a person; an approval counts once, for just that")
def _(home):
    with world(home) as server:
        t, out = in_thread(inside, home, "web__post", '{"text": "one"}')
        one = waiting(home)[0]
        ats.check(one["tool"] == "web__post", one)
        code, shown = at_terminal(home, "approve", one["id"])
        ats.check(code == 0 and '"one"' in shown, (code, shown))
        t.join(30)
        ats.check(out and "one" in text_of(out[0]) and not out[0]["result"].get("isError"), out)
        ats.check(len([a for a in server.asked if a[0] == "POST"]) == 1, server.asked)
        code, shown = at_terminal(home, "approve", one["id"])
        ats.check(code != 0, "an approval that is gone was given again: " + shown)
        # the same again asks again
        t, out = in_thread(inside, home, "web__post", '{"text": "one"}')
        two = waiting(home)[0]
        ats.check(two["id"] != one["id"], two)
        home.ctl("deny", two["id"], "--reason", "not today", code=0)
        t.join(30)
        ats.check(out and out[0]["result"]["isError"] and "not today" in text_of(out[0]), out)
        ats.check(len([a for a in server.asked if a[0] == "POST"]) == 1, server.asked)
        refused = inside(home, "web__never", '{"text": "x"}')
        ats.equal(refused["error"]["code"], -32602)       # no list has it
        r = home.ctl("gateway", "call", "web__never", '{"text": "x"}')
        ats.equal(r.returncode, 125)
        ats.contains(r.stderr + r.stdout, b"Refused by policy")
        audit = home.ctl("--json", "audit", code=0).stdout
        ats.check(PASSWORD.encode() not in audit and b"web__never" in audit, audit)


@ats.test("no terminal, no approval; the door has no method for one")
def _(home):
    with world(home) as server:
        t, out = in_thread(inside, home, "web__post", '{"text": "one"}')
        one = waiting(home)[0]
        r = home.ctl("approve", one["id"], input=b"y\n")
        ats.check(r.returncode == 125 and b"terminal" in r.stderr, r)
        door = home.door()
        for method in ("ats/approve", "ats/approval.approve", "ats/gateway.approve"):
            got = door.answer(door.send(method, {"id": one["id"]}))
            ats.check("error" in got, got)
        # nothing of the sandbox's either
        r = home.ctl("exec", "--", "sh", "-c", "ls /run/ats; ls -la /run/ats", code=0)
        ats.check(b"vault" not in r.stdout, r.stdout)
        home.ctl("deny", one["id"], code=0)
        t.join(30)
        ats.check(out and out[0]["result"]["isError"], out)
        ats.check(not server.asked, server.asked)


@ats.test("a waiting call outlives the engine; a restart of brain voids its approval")
def _(home):
    with world(home) as server:
        mcp = home.mcp()
        mcp.initialize()
        asked = mcp.send("tools/call", {"name": "web__post", "arguments": {"text": "late"}})
        one = waiting(home)[0]
        engine = home.pids("ats-engine")[0]
        os.kill(engine, signal.SIGKILL)
        ats.until(lambda: home.pids("ats-engine") not in ([], [engine]), "a new engine runs")
        still = waiting(home)[0]
        code, shown = at_terminal(home, "approve", still["id"])
        ats.check(code == 0, (still, one, shown))
        got = mcp.answer(asked)
        ats.check("late" in text_of(got), got)
        ats.check(len([a for a in server.asked if a[0] == "POST"]) == 1, server.asked)




if __name__ == "__main__":
    ats.main()
