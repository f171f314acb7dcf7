#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a shell worker must not be able to do. Each is tried by a static helper inside."""
import os
import shutil
import socket
import subprocess
import tempfile

from box import ats, test

HERE = os.path.dirname(os.path.abspath(__file__))
_dir = tempfile.mkdtemp(prefix="ats-probe-")
PROBE = os.path.join(_dir, "probe")
subprocess.run(["cc", "-static", "-O1", "-w", "-D_GNU_SOURCE", "-o", PROBE,
                os.path.join(HERE, "probe.c")], check=True)


def tries(b, *names):
    """{name: answer} of the helper, in one call."""
    shutil.copy(PROBE, b.path("probe"))
    os.chmod(b.path("probe"), 0o755)
    text = b.out("; ".join('echo "%s: $(./probe %s)"' % (n, n) for n in names))
    return dict(line.split(": ", 1) for line in text.splitlines())


@test("no namespace, no mount, no other root")
def _(b):
    got = tries(b, "userns", "mntns", "clone", "clone3", "mount", "umount", "fsopen",
                "open_tree", "chroot", "setns")
    for name, answer in got.items():
        ats.matches(answer, "^refused (EPERM|%s)" %
                    ("ENOSYS" if name == "clone3" else "EPERM"), name)


@test("no hold on the monitor")
def _(b):
    got = tries(b, "ptrace", "vm_read", "kill1", "pidfd_getfd", "open /proc/1/environ",
                "open /proc/1/mem", "open /proc/1/maps", "open /proc/1/exe",
                "write /proc/1/exe", "open /proc/1/root/etc/passwd", "open /proc/1/fd/3")
    for name, answer in got.items():
        ats.matches(answer, "^refused", name)
    ats.missing(b.out("cat /proc/1/cmdline | tr '\\0' ' '"), b.state)


@test("no kernel surface that tools do not need")
def _(b):
    got = tries(b, "bpf", "uring", "keyctl", "perf", "uffd", "handle", "sti", "sti_high",
                "persona", "mknod", "packet", "raw", "vsock", "alg", "mptcp", "netlink")
    for name, answer in got.items():
        ats.matches(answer, "^refused E(PERM|ACCES)", name)
    ats.equal(tries(b, "new_call")["new_call"], "refused ENOSYS")


@test("no privilege")
def _(b):
    got = tries(b, "setuid", "nice", "core")
    for name, answer in got.items():
        ats.matches(answer, "^refused E(PERM|ACCES|INVAL)", name)
    status = b.out("cat /proc/self/status")
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        ats.matches(status, field + r":\s+0{16}\n")
    ats.matches(status, r"NoNewPrivs:\s+1\n")
    ats.check(b.out("id -u") != "0", "uid 0")


@test("nothing outside can be written or read")
def _(b):
    secret = os.path.join(b.top, "secret")
    with open(secret, "w", encoding="ascii") as f:
        f.write("canary")
    os.chmod(secret, 0o644)
    os.symlink(secret, b.path("link"))
    got = tries(b, "open " + secret, "open link", "write " + secret, "write /usr/x",
                "write /x", "write /etc/x", "write /etc/passwd", "write /run/x",
                "write /dev/x", "write /proc/sys/kernel/core_pattern",
                "write /proc/sysrq-trigger", "write /sys/x", "open /run/ats/spill/x",
                "open /etc/shadow-x", "open %s/../state/home" % b.ws)
    for name, answer in got.items():
        ats.matches(answer, "^refused", name)
    ats.equal(b.out("ls %s" % b.top), "ws")
    ats.equal(b.sh("ls /home /root /srv /mnt /var 2>/dev/null; true").text.split()[:2],
              ["/home:", "agent"])
    ats.missing(b.out("cat /etc/shadow /etc/gshadow; true"), ":")


@test("no network but its own")
def _(b):
    tcp = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0ats-abstract-%d" % os.getpid())
    abstract.listen(1)
    path = os.path.join(b.top, "host.sock")
    host = socket.socket(socket.AF_UNIX)
    host.bind(path)
    host.listen(1)
    os.chmod(path, 0o777)
    got = tries(b, "tcp %d" % tcp.getsockname()[1], "unix " + path,
                "abstract ats-abstract-%d" % os.getpid())
    for name, answer in got.items():
        ats.matches(answer, "^refused", name)
    ats.equal(b.out("grep -c : /proc/net/dev"), "1")
    ats.contains(b.out("cat /proc/net/dev"), "lo:")


@test("sockets that were in the workspace are covered")
def _(b):
    # The scan runs when the zygote starts: a box of its own with the socket there before.
    from box import Box
    ws = os.path.join(b.top, "ws2")
    os.makedirs(os.path.join(ws, "deep/er"))
    for d in (ws, ws + "/deep", ws + "/deep/er"):
        if b.uid is not None:
            os.chown(d, b.uid, b.uid)
    host = socket.socket(socket.AF_UNIX)
    host.bind(os.path.join(ws, "deep/er/s"))
    os.chmod(os.path.join(ws, "deep/er/s"), 0o777)
    host.listen(1)
    with Box(b.uid, ws=ws) as c:
        ats.matches(tries(c, "unix deep/er/s")["unix deep/er/s"], "^refused ECONNREFUSED")


@test("protected names that exist stay as they are")
def _(b):
    from box import Box
    ws = os.path.join(b.top, "ws3")
    os.makedirs(ws)
    for d in (".git/hooks", ".git/info", ".claude", ".vscode", "sub/.git/hooks"):
        os.makedirs(os.path.join(ws, d))
    for f in (".git/config", ".mcp.json", ".envrc", ".claude/settings.json", ".gitmodules",
              "sub/.git/config"):
        with open(os.path.join(ws, f), "w", encoding="ascii") as h:
            h.write("host")
    for root, dirs, files in os.walk(ws):
        for n in dirs + files + [""]:
            if b.uid is not None:
                os.chown(os.path.join(root, n), b.uid, b.uid)
    with Box(b.uid, ws=ws) as c:
        r = c.sh("""
            echo x > .git/config; echo x > .git/hooks/pre-commit; echo x > .mcp.json
            mv .git .git2; rm -rf .claude; mv .claude c2; rm -f .mcp.json .envrc
            echo x > .claude/settings.json; ln -sf /tmp .vscode; chmod 777 .git/config
            mv .mcp.json m; echo x > .gitmodules; echo x > sub/.git/config
            echo x > sub/.git/hooks/h; mv sub/.git sub/g
            touch .git/index && echo index-is-writable""")
        ats.contains(r.text, "index-is-writable")
    for f in (".git/config", ".mcp.json", ".envrc", ".claude/settings.json", ".gitmodules",
              "sub/.git/config"):
        with open(os.path.join(ws, f), encoding="ascii") as h:
            ats.equal(h.read(), "host", f)
    ats.equal(os.listdir(os.path.join(ws, ".git/hooks")), [])
    ats.equal(sorted(os.listdir(ws)), sorted([".git", ".mcp.json", ".claude", ".vscode",
                                              ".envrc", ".gitmodules", "sub"]))


@test("protected names that a call makes are moved aside")
def _(b):
    quarantined = lambda: sorted(n for n in os.listdir(b.ws) if ".quarantine" in n)
    r = b.sh("echo evil > .mcp.json; mkdir evil; ln -s evil .claude; mkdir x; mv x .vscode;"
             " echo evil > y; ln y .envrc; echo printed")
    ats.matches(r.text, r"^printed\n\[Names that programs on the host .* NAME.quarantine.\]$")
    ats.equal(quarantined(), [n + ".quarantine" for n in
                              (".claude", ".envrc", ".mcp.json", ".vscode")])
    ats.equal(sorted(os.listdir(b.ws)), sorted(quarantined() + ["evil", "y"]))
    ats.missing(b.sh("echo again").text, "Names")
    # Made over and over, and in a call that has not ended.
    b.sh("for i in 1 2 3; do echo $i > .mcp.json; done")
    ats.missing(os.listdir(b.ws), ".mcp.json")
    call = b.start("Bash", command="echo evil > .bashrc; sleep 60")
    ats.until(lambda: ".bashrc.quarantine" in os.listdir(b.ws), "moved aside")
    b.link.send("control.cancel", call, {})
    b.wait(call)
    ats.missing(os.listdir(b.ws), ".bashrc")


@test("protected names that the user makes stay")
def _(b):
    b.sh("echo a call before")
    with open(b.path(".envrc"), "w", encoding="ascii") as f:
        f.write("host")
    ats.missing(b.sh("echo x >> y").text, "quarantine")
    ats.equal(sorted(os.listdir(b.ws)), [".envrc", "y"])


@test("a .git that is a file stays as it is")
def _(b):
    from box import Box
    ws = os.path.join(b.top, "ws4")
    os.makedirs(ws)
    with open(os.path.join(ws, ".git"), "w", encoding="ascii") as f:
        f.write("gitdir: /nowhere")
    for n in ("", ".git"):
        if b.uid is not None:
            os.chown(os.path.join(ws, n), b.uid, b.uid)
    with Box(b.uid, ws=ws) as c:
        c.sh("echo 'gitdir: evil' > .git; mv .git x; rm -f .git; mkdir .git; ln -sf /tmp .git")
    ats.equal(os.listdir(ws), [".git"])
    with open(os.path.join(ws, ".git"), encoding="ascii") as f:
        ats.equal(f.read(), "gitdir: /nowhere")


@test("start-up files of one call do not run in the next")
def _(b):
    names = (".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv")
    for n in names:
        b.sh("echo 'echo evil' > ~/{0}; mv ~/{0} ~/x; rm -f ~/{0}; ln -sf /tmp/e ~/{0};"
             " echo 'echo evil' > ~/{0}".format(n))
    ats.missing(b.sh("bash -lc true; bash -ic true 2>&1; cat ~/.bashrc ~/.profile").text,
                "evil")
    # The home directory is older than this box.
    home = os.path.join(b.state, "home")
    ats.check(all(os.path.getsize(os.path.join(home, n)) == 0 for n in names), "written")


@test("the workspace cannot be moved away")
def _(b):
    b.sh("cd ..; mv ws ws2; rm -rf ws; cd /; mv %s /tmp/y" % b.top)
    ats.equal(b.out("pwd"), b.ws)
    ats.check(os.path.isdir(b.ws), "gone")


try:
    ats.main()
finally:
    shutil.rmtree(_dir)
