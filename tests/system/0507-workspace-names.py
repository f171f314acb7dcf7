#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How workspaces and sessions are named on the command line: ways with "..", directories of
the system, sessions by name."""
import contextlib
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def make(home, *names):
    for n in names:
        os.makedirs(os.path.join(home.dir, n), 0o700, exist_ok=True)
        if home.uid is not None:
            os.chown(os.path.join(home.dir, n), home.uid, home.uid)


def workspaces(home):
    boxes = json.loads(home.ctl("--json", "status", code=0).stdout)["engine"]["sandboxes"]
    return {b["workspace"] for b in boxes}


@ats.test("--workspace ../other from inside a workspace, and other ways that cross no link",
          users=True)
def _(home):
    make(home, "other", "other/sub", "ws/sub")
    home.ctl("exec", "--", "true", code=0)
    other = os.path.join(home.dir, "other")
    for cwd, way, want in (("ws", "../other", other), ("ws", "./.././other//", other),
                           ("ws/sub", "../../other/sub/..", other),
                           ("ws/sub", "..", home.ws), ("ws", "sub/../../other", other),
                           ("ws", home.ws + "/../other/sub/.", other + "/sub"), ("ws", ".", home.ws),
                           ("ws", "sub/../../../../../../../../.." + other, other)):
        r = home.ctl("exec", "-w", way, "--", "pwd", code=0, cwd=os.path.join(home.dir, cwd))
        ats.equal(r.stdout.decode(), want + "\n", way)
    r = home.ctl("call", "-w", "../other", "Bash", '{"command":"pwd"}', code=0)
    ats.contains(r.stdout.decode(), other)
    sid = home.ctl("session", "new", "--workspace", "../other", code=0).stdout.decode().strip()
    ats.contains(home.ctl("--json", "session", "show", sid, code=0).stdout.decode(), other)
    mcp = home.mcp(workspace="../other")
    mcp.initialize()
    ats.equal(mcp.text("Bash", command="pwd"), other)


@ats.test("a way that leads over a link out of a workspace stays refused, .. or not", users=True)
def _(home):
    make(home, "secret", "secret/in", "ws/sub")
    home.ctl("exec", "--", "ln", "-s", os.path.join(home.dir, "secret"), "link", code=0)
    for way in ("link", "./link", "sub/../link", "link/in", "link/../secret", "link/in/..",
                "../ws/link"):
        r = home.ctl("exec", "-w", way, "--", "true", code=125)
        ats.contains(r.stderr.decode(), "leads out of the workspace", way)
    r = home.ctl("exec", "-w", "../none", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "No such file")


def replace(home, how):
    """Another directory in the place of the workspace, with a file of its name."""
    old = home.ws + ".old"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(home.ws, "two"))
    os.rename(home.ws, old)
    make(home, "ws")
    home.write("new", "%s\n" % how)
    if how == "removed":
        shutil.rmtree(old)
    return old


@ats.test("another directory in the place of the workspace is the workspace from then on", users=True)
def _(home):
    home.call("Write", file_path="one", content="1\n")
    mcp = home.mcp()
    mcp.initialize()
    sid = home.ctl("session", "new", code=0).stdout.decode().strip()
    for how, call in (("renamed", lambda: home.call("Write", file_path="two", content="2\n")),
                      ("removed", lambda: home.ctl("exec", "--", "sh", "-c", "cat new > two", code=0)),
                      ("renamed", lambda: home.ctl("exec", "--session", sid, "--", "cp", "new", "two",
                                                   code=0))):
        old = replace(home, how)
        call()
        ats.equal(sorted(os.listdir(home.ws)), ["new", "two"], how)
        if how == "renamed":
            ats.check(not os.path.exists(os.path.join(old, "two")))
            shutil.rmtree(old)
        # A client that was there before gets to it, too.
        ats.equal(mcp.text("Bash", command="cat new"), how)
    ats.equal(len(workspaces(home)), 1)
    # One that is as it was keeps its sandbox.
    before = home.pids("role-front")
    home.ctl("exec", "--", "true", code=0)
    ats.equal(home.pids("role-front"), before)


SYSTEM = ["/etc", "/usr", "/var", "/boot", "/opt", "/bin", "/sbin", "/lib", "/lib64", "/home",
          "/run", "/usr/bin", "/usr/share", "/usr/local", "/var/lib", "/var/log", "/etc/ssl",
          "/etc/../etc", "/run/lock", "/run/user", "/tmp", "/nix/store", "/proc", "/sys", "/dev"]


@ats.test("the directories of the system are no workspace, whoever asks", users=True)
def _(home):
    home.start()
    v = home.vault() if home.uid is None else None
    for d in SYSTEM:
        if not os.path.isdir(d):
            continue
        r = home.ctl("exec", "-w", d, "--", "true", code=125)
        ats.equal(r.stderr.count(b"\n"), 1, d)
        ats.matches(r.stderr.decode(), r"project directory|name a directory inside it", d)
        if v is not None:
            try:
                v.ask("REGISTER", d, "name:x")
            except ats.VaultError as e:
                ats.matches(e.text, r"cannot be given|contains the home directory", d)
            else:
                raise ats.Failure("%s was registered" % d)
    ats.equal(workspaces(home), {home.ws})


@ats.test("below /run and /etc there are projects: a stick, a user's own, NixOS")
def _(home):
    if os.geteuid() != 0:
        raise ats.Skip("only root makes such directories")
    fine = ["/run/media/u/stick", "/run/user/5/p", "/etc/nixos"]
    refused = ["/run/user/5", "/run/user", "/run/other", "/etc/nixos2"]
    home.prefix = ["unshare", "-m", "sh", "-c", "mount -t tmpfs t /run && mount -t tmpfs t /etc "
                   "&& mkdir -p %s && exec \"$@\"" % " ".join(fine + refused), "sh"]
    if home.ctl("version").returncode != 0:
        raise ats.Skip("no mount namespace")
    for d in fine + refused:
        r = home.ctl("session", "new", "-w", d, code=0 if d in fine else 1)
        ats.equal(r.stderr.count(b"belongs to the system"), int(d in refused), d)


@ats.test("session show and close take a name, in the workspace that exec would use", users=True)
def _(home):
    make(home, "other")
    home.ctl("exec", "--session", "foo", "--", "true", code=0)
    shown = json.loads(home.ctl("--json", "session", "show", "foo", code=0).stdout)
    sid = shown.get("id") or shown["session"]
    by_id = json.loads(home.ctl("--json", "session", "show", sid, code=0).stdout)
    ats.equal(by_id.get("id") or by_id["session"], sid)
    for verb in ("show", "close"):
        for args in (("bar",), ("-w", "../other", "foo"), ("-w", "/proc", "foo"), ("",), ("s-1",)):
            r = home.ctl("session", verb, *args, code=1)
            ats.equal(r.stderr.count(b"\n"), 1)
    r = home.ctl("session", "close", "bar", code=1)
    ats.contains(r.stderr.decode(), "session: bar: no such session in " + home.ws)
    ats.equal(len(json.loads(home.ctl("--json", "session", "ls").stdout)["sessions"]), 1)
    home.ctl("session", "close", "--workspace", "../ws", "foo", code=0, cwd=os.path.join(home.dir, "other"))
    home.ctl("session", "show", "foo", code=1)
    home.ctl("session", "show", sid, code=1)
    home.ctl("shutdown", code=0)
    home.ctl("session", "show", "foo", code=3)
    home.ctl("session", "close", "foo", code=3)


ats.main()
