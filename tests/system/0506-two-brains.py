#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One state directory, several runtime directories: a desktop login, ssh, cron. The second
brain says at once who has the state, and starts nothing."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import http_client


def other_run(home, name="run2"):
    d = os.path.join(home.dir, name)
    os.mkdir(d, 0o700)
    if home.uid is not None:
        os.chown(d, home.uid, home.uid)
    return d


def lock_path(home):
    return os.path.join(home.state, "ats", "brain.lock")


def in_use(home, pid):
    return ("state directory %s is in use by the brain at %s (pid %d); use its XDG_RUNTIME_DIR, "
            "or give this one a state directory of its own (--state, XDG_STATE_HOME)" %
            (os.path.join(home.state, "ats"), os.path.join(home.run, "ats"), pid))


@ats.test("another runtime directory on the same state: refused at once, 125, one brain stays",
          users=True)
def _(home):
    pid = home.start()
    before = home.ours()
    run2 = other_run(home)
    for args in (("exec", "--", "true"), ("call", "Bash", '{"command":"true"}'), ("mcp",)):
        begin = time.monotonic()
        r = home.ctl(*args, code=125, env={"XDG_RUNTIME_DIR": run2},
                     input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        ats.check(time.monotonic() - begin < 20, "%s took long" % args[0])
        ats.contains(r.stderr.decode(), in_use(home, pid))
        ats.equal(r.stderr.count(b"\n"), 1)
    ats.equal(home.ctl("status", code=3, env={"XDG_RUNTIME_DIR": run2}).returncode, 3)
    ats.equal(ats.wait_gone(home.ours() - before, 10), [])
    home.ctl("exec", "--", "true", code=0)
    ats.equal(home.brain_pid(), pid)
    # A state directory of its own is what the text says.
    state2 = other_run(home, "state2")
    env = {"XDG_RUNTIME_DIR": run2, "XDG_STATE_HOME": state2}
    home.ctl("exec", "--", "true", code=0, env=env)
    home.ctl("shutdown", code=0, env=env)


@ats.test("after an end, in order or by force, any runtime directory may have the state")
def _(home):
    run2 = other_run(home)
    for by_force in (False, True):
        pid = home.start()
        if by_force:
            os.kill(pid, signal.SIGKILL)
            ats.wait_gone({pid})
        else:
            home.ctl("shutdown", code=0)
        env = {"XDG_RUNTIME_DIR": run2}
        home.ctl("exec", "--", "true", code=0, env=env)
        with open(lock_path(home), encoding="utf-8") as f:
            ats.check(f.read().endswith(" %s/ats\n" % run2))
        home.ctl("shutdown", code=0, env=env)


@ats.test("a lock that does not say who holds it is respected all the same")
def _(home):
    pid = home.start()
    with open(lock_path(home), "r+", encoding="utf-8") as f:
        f.truncate(0)
        f.write("%d /%s" % (pid, "x" * 9000))
    r = home.ctl("exec", "--", "true", code=125, env={"XDG_RUNTIME_DIR": other_run(home)})
    ats.contains(r.stderr.decode(), "is in use by another brain; end it, or give this one")


@ats.test("a lock file that is a link, a FIFO, a directory or unreadable is named")
def _(home):
    victim = os.path.join(home.dir, "victim")
    with open(victim, "w", encoding="ascii") as f:
        f.write("mine")
    os.makedirs(os.path.dirname(lock_path(home)), 0o700)
    os.mkdir(os.path.join(home.run, "ats"), 0o700)
    rows = [(lambda p: os.symlink(victim, p), "symbolic link"), (os.mkfifo, "not a file of ours"),
            (os.mkdir, "directory")]
    if os.geteuid() != 0:
        rows.append((lambda p: os.close(os.open(p, os.O_CREAT, 0)), "Permission denied"))
    for path in (lock_path(home), os.path.join(home.run, "ats", "brain.lock")):
        if os.path.exists(path):    # atsctl made it
            os.unlink(path)
        for make, text in rows:
            make(path)
            r = home.ctl("exec", "--", "true", code=125)
            ats.contains(r.stderr.decode(), path)
            ats.contains(r.stderr.decode(), text)
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
    with open(victim, encoding="ascii") as f:
        ats.equal(f.read(), "mine")
    home.ctl("exec", "--", "true", code=0)


@ats.test("an engine that an upgrade has put beside an older brain says so, and does not serve")
def _(home):
    e = engine.Engine(home, version="0.0.0-other", start=False)
    try:
        e.start()
    except ats.Failure as why:
        ats.contains(str(why), "the engine ended before")
    else:
        raise ats.Failure("it serves")
    with open(e.log_path, encoding="utf-8") as f:
        ats.matches(f.read(), r"brain is version 0\.0\.0-other, this ats-engine \S+: atsctl shutdown")
    ats.equal(os.listdir(e.dir), [])        # and has touched nothing


@ats.test("ats-http and ats-gateway beside an older brain say so by name, and do not serve")
def _(home):
    # What an upgrade leaves: a brain that runs, and other programs where it starts its own from.
    bin = os.path.join(home.dir, "bin")
    os.mkdir(bin)
    for name in ("atsctl", "ats-brain", "ats-engine", "ats-hands", "ats-http", "ats-gateway"):
        shutil.copy(ats.program(name), bin)
    token, _ = http_client.write_token(home)
    home.configure({
        "http": {"listen": ["127.0.0.1:0"], "token_file": token, "workspace": home.ws},
        "gateways": {"gw": {"kind": "command", "tools": {"x": {
            "description": "x", "input": {"type": "object"}, "read_only": True,
            "argv": ["/bin/true"]}}}}})

    def ctl(*args, code=0):
        r = subprocess.run([bin + "/atsctl", *args], env=home.env, cwd=home.ws,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=ats.TIMEOUT)
        ats.equal(r.returncode, code, r)
        return r.stdout
    ctl("exec", "--", "true")
    ats.until(lambda: json.loads(ctl("--json", "status"))["vault"]["http"]["state"] == "listens",
              "it listens")
    for name in ("ats-http", "ats-gateway"):
        os.rename(bin + "/" + name, bin + "/new-" + name)
        with open(bin + "/" + name, "w", encoding="ascii") as f:
            f.write("#!/bin/bash\na=(\"$@\")\nfor i in ${!a[@]}; do [ \"${a[i]}\" = --brain-version ] "
                    "&& a[i+1]=0.0.9\ndone\nexec ${0%%/*}/new-%s \"${a[@]}\"\n" % name)
        os.chmod(bin + "/" + name, 0o755)
    os.kill(json.loads(ctl("--json", "status"))["vault"]["http"]["pid"], signal.SIGKILL)
    says = "brain is version 0.0.9, this %s %s: atsctl shutdown"
    version = ctl("version").split()[1]
    ats.until(lambda: "brain is version" in subprocess.run(
        [bin + "/atsctl", "status"], env=home.env, stdout=subprocess.PIPE, check=False,
        text=True).stdout, "it is told")
    ats.contains(ctl("status", code=1), says % ("ats-http", version))
    r = subprocess.run([bin + "/atsctl", "gateway", "call", "gw__x", "{}"], env=home.env,
                       cwd=home.ws, capture_output=True, text=True, timeout=ats.TIMEOUT)
    ats.check(r.returncode != 0, r)
    ats.contains(ctl("status", code=1), says % ("ats-gateway", version))
    ctl("shutdown")


@ats.test("an atsctl beside a brain that speaks otherwise says whether they belong together")
def _(home):
    os.makedirs(home.run + "/ats", 0o700)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(home.run + "/ats/vault.sock")
    s.listen()

    def answer(data):
        p = home.popen(ats.program("atsctl"), "status", stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        c, _ = s.accept()
        with c:
            c.recv(65536)
            c.send(data)
            out, err = p.communicate(timeout=ats.TIMEOUT)
        ats.equal((p.returncode, out), (1, b""), err)
        ats.equal(err.count(b"\n"), 1)
        return err.decode()
    with s:
        # A message of the protocol, but no answer; and one that no table of ours has.
        ats.contains(answer(ats.Vault.pack("QUIT", 1)), "belong together")
        ats.matches(answer(b"\xff" * 64), "^atsctl: status: brain: ")


ats.main()
