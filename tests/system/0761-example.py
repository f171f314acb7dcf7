#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example runtimes, end to end over every kind of link: the five host calls with a real brain
and a real hands, which the runtime's REMOTE_TOOLS_URL names."""
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import far
import kills
from runtime import Runtime


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def stdio(home):
    return "stdio"


def unix(home):
    return "unix:" + far.Far(home).path


def exec_(home):
    f = far.Far(home)
    home.configure({"commands": {"far": [ats.program("ats-hands"), "attach", "--socket", f.path]}})
    return "exec:far"


def enrolled(home, url, *args):
    key = home.ctl("sandbox", "enroll", env={"REMOTE_TOOLS_URL": url}, code=0).stdout.decode()
    far.NetFar(home, key, args)
    return url


def over(scheme):
    """Hands listens."""
    def fn(home):
        url = "%s://127.0.0.1:%d" % (scheme, free_port())
        return enrolled(home, url, "--listen", url)
    return fn


def listen(scheme):
    """Hands connects."""
    def fn(home):
        url = "%s://127.0.0.1:%d" % (scheme, free_port())
        return enrolled(home, "listen:" + url, "--connect", url)
    return fn


LINKS = {"stdio": stdio, "unix": unix, "exec": exec_, "tcp": over("tcp"), "tls": over("tls"),
         "ws": over("ws"), "wss": over("wss"), "listen:tcp": listen("tcp"),
         "listen:wss": listen("wss")}


def tools(home, rt):
    """What a model does in a turn, by a runtime with a state of its own."""
    ws = os.path.realpath(home.ws)
    s = rt.tool("Bash", command="mkdir -p sub && cd sub && pwd")
    ats.equal((s.end, s.error, s.cwd, s.text), ("done", False, ws + "/sub", ws + "/sub"))
    ats.equal(rt.tool("Write", file_path="f.txt", content="one\ntwo\n").error, False)
    ats.equal(home.read("sub/f.txt"), b"one\ntwo\n")
    edit = {"file_path": "f.txt", "old_string": "two", "new_string": "2"}
    s = rt.validate("Edit", **{**edit, "old_string": "three"})
    ats.equal((s.end, s.error, s.code), ("done", True, "no_match"))
    ats.equal(rt.validate("Edit", **edit).error, False)
    ats.equal(home.read("sub/f.txt"), b"one\ntwo\n")
    ats.equal(rt.tool("Edit", **edit).error, False)
    ats.equal(home.read("sub/f.txt"), b"one\n2\n")
    ats.contains(rt.tool("Grep", pattern="on", output_mode="content").text, "f.txt:1:one")
    ats.contains(rt.tool("Read", file_path=ws + "/sub/f.txt").text, "2\t2")
    s = rt.tool("Bash", command="exit 7")
    ats.equal((s.end, s.error, s.cwd), ("done", True, ws + "/sub"))
    ats.contains(s.text, "7")
    s = rt.tool("Edit", file_path="f.txt", old_string="", new_string="")
    ats.equal((s.end, s.error), ("done", True))


def plans(home, rt):
    """The plan folder is the host's: no call with a file in it is sent."""
    home.write("../plans/a.md", b"a plan")
    ats.equal(rt.tool("Read", file_path=rt.plans + "/a.md").end, "native")
    ats.equal(rt.plan("a.md").text, "a plan")
    ats.equal(rt.plan("../plans/a.md").code, "plan")


def hooks(home, rt):
    """One of the workspace's settings runs in the sandbox, and is heard."""
    s = rt.hook("UserPromptSubmit", prompt="hello")
    ats.equal((s.end, s.error), ("done", False), s)
    result = json.loads(s.text)
    ats.contains(json.dumps(result), "heard hello")
    ats.equal(home.read("hook-ran"), b"UserPromptSubmit\n")


COMMAND = ("cd \"$CLAUDE_PROJECT_DIR\"; cat > in.json; echo UserPromptSubmit >> hook-ran; "
           "grep -q '\"hello\"' in.json && echo '" + json.dumps({"hookSpecificOutput": {
               "hookEventName": "UserPromptSubmit", "additionalContext": "heard hello"}}) + "'")
SETTINGS = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": COMMAND}]}]}}


def register(link, kind):
    @ats.test("%s, by %s" % (link, kind))
    def _(home):
        os.makedirs(os.path.join(home.ws, ".claude"))
        home.write(".claude/settings.json", json.dumps(SETTINGS).encode())
        url = LINKS[link](home)
        rt = Runtime(home, kind, url=url)
        tools(home, rt)
        plans(home, rt)
        hooks(home, rt)
        box = json.loads(home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]
        ats.equal((box["url"], box["state"]), (url, "ready"))
        ats.equal(rt.end(), (0, ""))
        home.ctl("shutdown", code=0)


for n, name in enumerate(LINKS):
    # Each link with both languages; the forms that wait and the static library on two of them.
    for how in ("c", "js") + (("c-static", "c-blocking") if name in ("stdio", "tls") else ()):
        register(name, how)


@ats.test("a call outlives the engine and the sandbox's connection: the answer is the first one's",
          long=ats.PARTLY)
def _(home):
    for kind in ats.some(("c", "c-blocking", "js"), ats.PARTLY):
        rt = Runtime(home, kind, workspace=home.ws)
        os.mkfifo(os.path.join(home.ws, "go"))
        rt.ask("tool", "Bash", {"command": "echo run >> ran; cat go; echo last"})
        ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
        os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
        with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
            f.write("from outside\n")
        s = rt.said()
        ats.equal((s.end, s.error, s.text), ("done", False, "from outside\nlast"))
        ats.equal(home.read("ran"), b"run\n")
        ats.equal(rt.tool("Bash", command="echo more").text, "more")
        ats.equal(rt.end(), (0, ""))
        for name in ("go", "ran"):
            os.unlink(os.path.join(home.ws, name))


@ats.test("a sandbox that is killed in a call: its outcome is unknown, the next one runs",
          long=ats.PARTLY)
def _(home):
    for kind in ats.some(("c", "js"), ats.PARTLY):
        rt = Runtime(home, kind)
        rt.ask("tool", "Bash", {"command": "echo run >> ran; sleep 1000"})
        ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
        home.ctl("sandbox", "kill", json.loads(
            home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]["id"], code=0)
        s = rt.said()
        ats.equal((s.end, s.error), ("unknown", True))
        ats.equal(rt.tool("Bash", command="echo more").text, "more")
        ats.equal(rt.end(), (0, ""))
        os.unlink(os.path.join(home.ws, "ran"))


@ats.test("no brain, and none may be started by this address: one line that says why",
          long=ats.PARTLY)
def _(home):
    for kind in ats.some(("c", "js"), ats.PARTLY):
        rt = Runtime(home, kind, url="exec:nobody")
        code, said = rt.end()
        ats.equal((code, said.count("\n")), (1, 1), said)
        ats.contains(said, "nobody")


ats.main()
