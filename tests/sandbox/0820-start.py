#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad conditions at the start: each is refused with its reason, or makes no difference."""
import os
import shutil
import socket
import subprocess
import tempfile

from box import Box, OTHER_UID, USERS, ats
from stages import ALL, Stage, helper, refused

DENY = helper("deny")
NAMESPACES = 0x6e020000         # CLONE_NEWNS and its kin


# ---- the environment and the descriptors that start hands -------------------------------------
def evil(top):
    """An environment in which each variable would run something, and the file that tells."""
    mark = top + "/mark"
    run = "#!/bin/sh\necho %s >> %s\n"
    for n in ("bash", "sh", "git", "evil.sh"):
        with open(top + "/ws/" + n, "w", encoding="ascii") as f:
            f.write(run % (n, mark))
        os.chmod(top + "/ws/" + n, 0o755)
    with open(top + "/ws/evil.c", "w", encoding="ascii") as f:
        f.write("#include <stdio.h>\n__attribute__((constructor)) static void x(void)"
                "{FILE*f=fopen(\"%s\",\"a\");if(f){fputs(\"preload\\n\",f);fclose(f);}}" % mark)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", top + "/ws/evil.so", top + "/ws/evil.c"],
                   check=True)
    with open(top + "/ws/evil.py", "w", encoding="ascii") as f:
        f.write("open('%s', 'a').write('python')\n" % mark)
    with open(top + "/ws/evil.js", "w", encoding="ascii") as f:
        f.write("require('fs').appendFileSync('%s', 'node')\n" % mark)
    shutil.copy(top + "/ws/evil.py", top + "/ws/sitecustomize.py")
    ws = top + "/ws"
    return {"LD_PRELOAD": ws + "/evil.so", "LD_LIBRARY_PATH": ws, "LD_AUDIT": ws + "/evil.so",
            "PATH": ws, "BASH_ENV": ws + "/evil.sh", "ENV": ws + "/evil.sh", "SHELLOPTS": "xtrace",
            "PS4": "$(%s/evil.sh)" % ws, "BASH_FUNC_ls%%": "() { %s/evil.sh; }" % ws,
            "NODE_OPTIONS": "--require " + ws + "/evil.js", "PYTHONPATH": ws,
            "PYTHONSTARTUP": ws + "/evil.py", "PERL5OPT": "-I" + ws, "GIT_EXEC_PATH": ws,
            "GIT_SSH_COMMAND": ws + "/evil.sh", "IFS": "/", "SECRET": "canary-env"}, mark


@ats.test("the environment and open descriptors of who starts hands reach no tool", home=False)
def _():
    top = tempfile.mkdtemp(prefix="ats-start-")
    try:
        os.makedirs(top + "/ws")
        os.makedirs(top + "/state")
        env, mark = evil(top)
        secret = os.open(top + "/secret", os.O_RDWR | os.O_CREAT)
        os.write(secret, b"canary-fd")
        ours, theirs = socket.socketpair()
        hold = socket.create_server(("127.0.0.1", 0))
        p = subprocess.Popen(
            [ats.program("ats-hands"), "--stdio", "--workspace", top + "/ws", "--state-dir",
             top + "/state"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=env,
            cwd=top + "/ws", pass_fds=(secret, hold.fileno()))
        theirs.close()
        link = ats.Link(ours)
        link.hello_as_brain()
        call = 0

        def tool(name, **arguments):
            nonlocal call
            call += 1
            link.send("call.tool", call, {"name": name, "input": arguments,
                      "ctx": {"cwd": top + "/ws"}, "deadline_ms": 9000,
                      "session": "s-000000000001"})
            return link.expect("result", call=call).payload.decode()

        text = tool("Bash", command="env; ls -l /proc/self/fd; set; /bin/ls /; git --version; "
                    "python3 -c 1; type node >/dev/null && node -e 1; bash -c true; sh -c true")
        for word in ("canary", "evil", "LD_PRELOAD", "NODE_OPTIONS", "SHELLOPTS=xtrace", "/secret"):
            ats.missing(text, word)
        ats.matches(text, r"(?m)^PATH=/usr")
        ats.contains(tool("Read", file_path=top + "/ws/evil.sh"), "mark")
        ats.missing(tool("Grep", pattern="canary", path=top + "/ws"), "canary")
        for p1 in ats.descendants(p.pid):
            if ats.comm(p1) == "ats-init":      # forked from the launcher; tools do not see it
                continue
            try:
                with open("/proc/%d/environ" % p1, "rb") as f:
                    ats.missing(f.read().decode(errors="replace"), "canary")
                fds = [os.readlink("/proc/%d/fd/%s" % (p1, n))
                       for n in os.listdir("/proc/%d/fd" % p1)]
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                continue
            ats.missing("\n".join(fds), "/secret")
        p.terminate()
        _, err = p.communicate(timeout=10)
        ats.check(not os.path.exists(mark), "%s; %s" % (os.path.exists(mark) and open(
            mark, encoding="utf-8").read(), err))
        ours.close()
    finally:
        shutil.rmtree(top)


# ---- what the machine forbids -----------------------------------------------------------------
@ats.test("user namespaces forbidden by a sysctl", home=False)
def _():
    stage = [s for s in ALL if s.level == "landlock"][0]
    asked = Stage(stage.name, "namespaces", stage.uid, stage.prefix)
    refused(asked, "confinement_unavailable", "clone.*: user.max_user_namespaces is 0; remedy: "
            "sysctl user.max_user_namespaces=10000")


@ats.test("namespaces forbidden by a filter", home=False)
def _():
    for stage in ALL[:2]:
        if stage.level == "namespaces":
            refused(stage, "confinement_unavailable",
                    "clone.*: Operation not permitted: refused by .* outer seccomp filter; remedy",
                    DENY, "56/%x" % NAMESPACES, "1")


@ats.test("weaker only as far as min_level says", home=False)
def _():
    for stage, level in zip(ALL, ("uid+landlock", "landlock")):
        deny = (DENY, "56/%x" % NAMESPACES, "1")
        with stage.box(*deny, level=level) as b:
            ats.equal((b.confinement["level"], b.confinement["verified"]), (level, True))
        with stage.box(*deny, level="none") as b:       # the strongest that there is
            ats.equal(b.confinement["level"], level)


PROC = {"not mounted": ("umount -l /proc", "/proc is not mounted|mount.proc."),
        "covered": ("mount -t tmpfs tmpfs /proc/acpi 2>/dev/null || "
                    "mount -t tmpfs tmpfs /proc/irq", "mount.proc.: .* covered")}
for name, (how, said) in PROC.items():
    def proc(how=how, said=said):
        if os.geteuid() != 0:
            ats.skip("needs root to set the stage")
        script = how + " && exec setpriv --reuid %d --regid %d --clear-groups \"$@\"" % (
            OTHER_UID, OTHER_UID)
        prefix = ("/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh")
        top = tempfile.mkdtemp(prefix="ats-proc-")
        os.makedirs(top + "/ws")
        os.chown(top, OTHER_UID, OTHER_UID)
        os.chown(top + "/ws", OTHER_UID, OTHER_UID)
        os.chmod(top, 0o755)
        p = subprocess.run([*prefix, ats.program("ats-hands"), "--stdio", "--workspace",
                            top + "/ws"], stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=20, check=False)
        shutil.rmtree(top)
        ats.equal(p.returncode, 125, p.stderr)
        ats.matches(p.stderr.decode(), "(%s).*; remedy: " % said)
        ats.contains(p.stdout.decode(errors="replace"), "confinement_unavailable")
    ats.test("/proc is %s" % name, home=False)(proc)


@ats.test("a chroot as the root directory", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("needs root to set the stage")
    top = tempfile.mkdtemp(prefix="ats-chroot-")
    for d in ("/tmp", "/ws"):
        os.makedirs(top + d)
        os.chmod(top + d, 0o1777)
    os.chmod(top, 0o755)
    shutil.copy(ats.program("ats-hands"), top + "/ats-hands")
    p = subprocess.run(["chroot", "--userspec=%d:%d" % (OTHER_UID, OTHER_UID), top, "/ats-hands",
                        "--stdio", "--workspace", "/ws"], stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=20, check=False)
    shutil.rmtree(top)
    ats.equal(p.returncode, 125, p.stderr)
    ats.matches(p.stderr.decode(), "chroot.*remedy: enter it with pivot_root")


@ats.test("no_new_privs and an empty bounding set from the start", home=False)
def _():
    for uid in USERS:
        with Box(uid, prefix=("/usr/bin/setpriv", "--no-new-privs")) as b:
            ats.equal(b.confinement["verified"], True)
            ats.equal(b.out("echo x > f; cat f"), "x")


try:
    ats.main()
finally:
    shutil.rmtree(os.path.dirname(DENY))
