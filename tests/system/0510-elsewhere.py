#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox.url unix: brain uses a hands that it did not start, and goes on with it when the
connection, the engine or brain itself goes; when hands goes, calls end as after any loss."""
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import far
import kills


def elsewhere(home, *options, proxy=False, **more):
    """A hands, and brain's configuration for it: (hands, proxy or None)."""
    f = far.Far(home, *options)
    p = far.Proxy(home, f.path) if proxy else None
    conf = {"sandbox": {"url": "unix:" + (p.path if p else f.path)}}
    if p and home.uid is not None:      # the proxy is root's, as this test is
        conf["sandbox"]["allow_uids"] = [str(os.geteuid())]
    conf.update(more)
    home.configure(conf)
    return f, p


def text_of(result):
    return result["content"][0]["text"]


def until_file(home, name):
    ats.until(lambda: os.path.exists(os.path.join(home.ws, name)), name)


def fifo(home, name="go"):
    path = os.path.join(home.ws, name)
    os.mkfifo(path)
    os.chmod(path, 0o666)
    return path


@ats.test("calls, exec with its output, and what is shown of it", users=True)
def _(home):
    f, _ = elsewhere(home)
    home.write("a.txt", "from the far side\n")
    ats.contains(text_of(home.call("Read", file_path=home.ws + "/a.txt")), "from the far side")
    r = home.ctl("exec", "--", "sh", "-c", "cat; echo err >&2; exit 3", input="in\n", code=3)
    ats.equal((r.stdout, r.stderr), (b"in\n", b"err\n"))
    ats.equal(home.pids("ats-hands"), [], "brain started a hands of its own")
    url = "unix:" + f.path
    for argv in (("status",), ("sandbox", "ls"), ("config", "check"), ("doctor",)):
        ats.contains(home.ctl(*argv).stdout.decode(), url, argv)
    box = json.loads(home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]
    ats.equal(box["url"], url)
    ats.contains(home.ctl("inspect", box["id"]).stdout.decode(), url)
    home.ctl("shutdown", code=0)
    ats.check(f.proc.poll() is None, "hands is not brain's to end")


@ats.test("REMOTE_TOOLS_URL comes before the configuration, and atsctl passes it on")
def _(home):
    f = far.Far(home)
    home.env["REMOTE_TOOLS_URL"] = "unix:" + f.path
    ats.contains(text_of(home.call("Bash", command="echo there")), "there")
    ats.equal(home.pids("ats-hands"), [])
    home.ctl("shutdown", code=0)
    home.env["REMOTE_TOOLS_URL"] = "tcp://192.0.2.7:1"
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "set sandbox.allow_plain")


@ats.test("a dropped connection: a running call goes on, a background shell lives", users=True)
def _(home):
    _, p = elsewhere(home, proxy=True)
    mcp = home.mcp()
    mcp.initialize()
    go = fifo(home)
    started = mcp.text("Bash", command="echo begun; cat later", run_in_background=True)
    shell = started.split("ID: ")[1].split()[0].rstrip(".") if "ID: " in started else \
        [w for w in started.replace(".", " ").split() if w.startswith("bash_")][0]
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    until_file(home, "ran")
    p.cut(hold=True)
    with open(go, "w", encoding="ascii") as w:     # it ends while nobody is attached
        w.write("from outside\n")
    p.let()
    r = mcp.answer(id)["result"]
    ats.equal(r["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")
    ats.contains(mcp.text("BashOutput", bash_id=shell), "begun")
    p.cut()
    ats.contains(mcp.text("Bash", command="echo after"), "after")
    ats.equal(p.taken, 3)
    ats.missing(home.ctl("status").stdout.decode(), "background commands that ran")


@ats.test("a call that never arrived runs once")
def _(home):
    f, p = elsewhere(home, proxy=True)
    mcp = home.mcp()
    mcp.initialize()
    ats.contains(mcp.text("Bash", command="echo up"), "up")
    os.kill(f.proc.pid, signal.SIGSTOP)
    fronts = [x for x in ats.descendants(f.proc.pid) if "role-front" in ats.cmdline(x)]
    for x in fronts:
        os.kill(x, signal.SIGSTOP)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {"command": "echo x >> ran"}})
    box = ats.until(lambda: [b for b in json.loads(home.ctl("--json", "status").stdout)
                             ["engine"]["sandboxes"] if b["calls_running"] == 1], "it is sent")
    ats.equal(len(box), 1)
    p.cut(hold=True)
    for x in (*fronts, f.proc.pid):
        os.kill(x, signal.SIGCONT)
    p.let()
    ats.check(not mcp.answer(id)["result"]["isError"])
    ats.equal(home.read("ran"), b"x\n")


@ats.test("hands is killed and started again: the turn goes on", users=True)
def _(home):
    f, _ = elsewhere(home)
    mcp = home.mcp()
    mcp.initialize()
    fifo(home)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go"}})
    until_file(home, "ran")
    mcp.text("Bash", command="cat go", run_in_background=True)
    f.restart()
    r = mcp.answer(id)["result"]
    ats.check(r["isError"], r)
    text = json.dumps(r) + mcp.text("Bash", command="echo on")
    for part in ("unknown", "on", "background commands that ran in it have ended"):
        ats.contains(text, part)
    ats.equal(home.read("ran"), b"run\n")


@ats.test("hands is gone: given up with the reason, taken again when it is there")
def _(home):
    f, _ = elsewhere(home, limits={"start_ms": 2000})
    ats.contains(text_of(home.call("Bash", command="echo up")), "up")
    f.kill()
    r = home.call("Bash", code=125, command="echo lost")
    ats.contains(json.dumps(r), "no_sandbox")
    ats.contains(home.ctl("status").stdout.decode(), "Connection refused")
    f.start()
    ats.contains(text_of(home.call("Bash", command="echo again")), "again")


@ats.test("the engine dies: running calls go on", users=True)
def _(home):
    elsewhere(home)
    mcp = home.mcp()
    mcp.initialize()
    go = fifo(home)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    until_file(home, "ran")
    old = kills.of_role(home, "engine")[-1]
    os.kill(old, signal.SIGKILL)
    ats.until(lambda: [x for x in kills.of_role(home, "engine") if x != old], "a new one")
    ats.contains(mcp.text("Bash", command="echo beside"), "beside")
    with open(go, "w", encoding="ascii") as w:
        w.write("from outside\n")
    ats.equal(mcp.answer(id)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")


@ats.test("brain dies whole: its next one takes the result")
def _(home):
    elsewhere(home)
    mcp = home.mcp()
    mcp.initialize()
    go = fifo(home)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    until_file(home, "ran")
    os.kill(home.brain_pid(), signal.SIGKILL)
    with open(go, "w", encoding="ascii") as w:
        w.write("from outside\n")
    ats.equal(mcp.answer(id)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")


@ats.test("a workspace that the sandbox has not is refused, and this machine is not looked at")
def _(home):
    elsewhere(home)
    r = home.ctl("exec", "--workspace", "/no/such/place", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "has the workspace %s, not /no/such/place" % home.ws)
    for path, why in (("/", "root directory"), ("/a/../b", "..")):
        r = home.ctl("exec", "--workspace", path, "--", "true", code=125)
        ats.contains(r.stderr.decode(), why)
    home.ctl("exec", "--workspace", home.ws, "--", "true", code=0)


@ats.test("who listens, and who attaches, is looked at")
def _(home):
    if os.geteuid() != 0:
        ats.skip("takes other users")
    os.chmod(home.dir, 0o755)
    os.chmod(home.run, 0o777)
    os.chown(home.ws, ats.OTHER_UID, ats.OTHER_UID)
    f = far.Far(home, "--option", "min_level=landlock", uid=ats.OTHER_UID)
    home.configure({"sandbox": {"url": "unix:" + f.path}})
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "uid %d listens there" % ats.OTHER_UID)
    home.ctl("shutdown")
    home.configure({"sandbox": {"url": "unix:" + f.path, "allow_uids": [str(ats.OTHER_UID)]}})
    home.ctl("exec", "--", "true", code=0)
    home.ctl("shutdown", code=0)

    # the other way round, where the socket's mode does not stop it
    def attach(uid):
        s = socket.socket(socket.AF_UNIX)
        euid = os.geteuid()
        os.setresuid(-1, uid, -1)
        try:
            s.connect(f.path)
        finally:
            os.setresuid(-1, euid, -1)
        link = ats.Link(s)
        home.open_things.append(link)
        return link.recv()
    os.chmod(f.path, 0o666)
    frame = attach(ats.OTHER_UID + 1)
    ats.equal((frame.name, frame.json["code"]), ("control.goodbye", "not_permitted"))
    ats.until(lambda: "a peer was refused" in f.log(), "a line on the log")
    ats.equal(attach(ats.OTHER_UID).name, "control.hello")
    f.kill()
    f.options += ("--allow-uid", str(ats.OTHER_UID + 1))
    f.start()
    ats.equal(attach(ats.OTHER_UID + 1).name, "control.hello")


ats.main()
