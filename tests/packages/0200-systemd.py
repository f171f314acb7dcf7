#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/OPERATING.md under a real systemd, its lines as they stand there: a user's brain, a brain of
the machine with hands beside it, credentials, watchdogs, upgrade, removal, make install. All tests
share one machine (machine.py), in this order; the last ones take the programs away."""
import functools
import glob
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_root
import machine
from machine import ats

SUITE = os.environ.get("ATS_SUITE", "bookworm")
DOOR = "/run/ats/brain.sock"
ONE = "/srv/ats/one"
DOORS = ("ats-brain.socket", "ats-engine.socket")
GRACE_SECONDS = 20              # TimeoutStopSec= of the units
with open(os.path.join(ats.TOP, "docs", "OPERATING.md"), encoding="utf-8") as doc:
    OPERATING = doc.read()


def block(section, number=0):
    """The lines of a block of that section of docs/OPERATING.md."""
    (text,) = re.findall(r"(?ms)^## %s\n(.*?)(?=^## |\Z)" % re.escape(section), OPERATING)
    return re.findall(r"(?ms)^```\n(.*?)^```$", text)[number]


@functools.cache
def debs(version):
    found = sorted(glob.glob(os.path.join(ats.BUILD, "deb-test", version, "*.deb")))
    if not found:
        ats.skip("0100-deb.py makes the packages")
    return found


@functools.cache
def booted():
    m = machine.booted(SUITE, [*debian_root.depends(debs("0.1.0")), "dbus", "libpam-systemd",
                               "openssl"])
    m.put(debs("0.1.0"), "/build/deb")
    m.put(debs("0.1.1"), "/new/build/deb")
    return m


@functools.cache
def installed():
    """With the packages, and two users: NAME of the document is u; v is in no group."""
    m = booted()
    m.sh("useradd -m -s /bin/bash u; useradd -m -s /bin/bash v; loginctl enable-linger u\n"
         "install -d -o u /home/u/p; echo first > /home/u/p/f; chown u /home/u/p/f")
    m.sh(block("Debian packages"))
    return m


@functools.cache
def served():
    """With a brain of the machine, and hands for a workspace of it."""
    m = installed()
    m.sh(block("One for the machine").replace("NAME", "u"))
    m.sh(block("One for the machine", 1).replace("NAME", "one"))
    m.sh("echo first > %s/f; chown ats-hands %s/f" % (ONE, ONE))
    return m


def fresh(m):
    """What tests did before is no crash loop."""
    m.sh("systemctl reset-failed")


def as_user(m, name, script, code=0):
    """In a log-in of that user."""
    m.write("/script", script)
    r = m.sh("su -l %s -c 'sh -eu /script'" % name, check=False)
    ats.equal(r.returncode, code, "%s\n%s" % (script, r.stdout[-3000:]))
    return r.stdout


def ctl(m, words, name="u", code=0):
    return as_user(m, name, "exec atsctl --socket %s %s" % (DOOR, words), code)


def show(m, unit, key, manager=""):
    return m.sh("systemctl %s show -P %s %s" % (manager, key, unit)).stdout.strip()


def ours(m):
    """Programs of ours that run in the machine, as pid and name there."""
    said = m.sh("for p in /proc/[0-9]*; do echo ${p#/proc/} $(readlink $p/exe) || :; done").stdout
    return [x for x in said.splitlines() if re.search(r"/ats-|/atsctl", x)]


def of(m, *users):
    """Processes of these users."""
    said = m.sh("stat -c '%U %n' /proc/[0-9]* 2> /dev/null || :").stdout
    return [x for x in said.splitlines() if x.split()[0] in users]


@ats.test("the packages come with users and directories, and enable nothing", home=False)
def _():
    m = installed()
    said = m.sh("systemctl list-unit-files --plain --no-legend 'ats*'").stdout
    ats.equal(sorted(x.split()[0] + " " + x.split()[1] for x in said.splitlines()),
              ["ats-brain.service disabled", "ats-brain.socket disabled", "ats-engine.service static",
               "ats-engine.socket static", "ats-hands@.service disabled"])
    m.sh("id ats-brain; id ats-engine; id ats-hands; getent group ats")
    ats.equal(m.sh("stat -c '%U %a' /run/ats").stdout, "ats-brain 755\n")
    ats.equal(ours(m), [])


@ats.test("a user's brain: the first client starts it, and it is ready then", home=False)
def _():
    m = installed()
    as_user(m, "u", block("For each user, with systemd"))
    ats.equal(as_user(m, "u", "systemctl --user is-active ats-brain || :").strip(), "inactive")
    ats.equal(as_user(m, "u", "cd p; atsctl exec -- sh -c 'echo first > f; cat f'"), "first\n")
    # Ready when systemd says so: nothing that ran before "Started" is asked of the engine.
    log = as_user(m, "u", "journalctl --user -u ats-brain -o cat")
    ats.matches(log, r'Starting ats-brain.*msg="engine is ready".*Started ats-brain')
    ats.matches(log, r"(?m)^ts=\d+\.\d{3} level=info proc=engine msg=\"sandbox.ready\" sandbox=b-")
    # What the manager gave away is said, and what a box lacks where it has nothing to give.
    group = as_user(m, "u", "systemctl --user show -P ControlGroup ats-brain").strip()
    has = "memory" in m.sh("cat /sys/fs/cgroup%s/cgroup.controllers" % group).stdout.split()
    status = as_user(m, "u", "atsctl --json status")
    ats.contains(status, '"level":"namespaces"')
    ats.equal("memory-sum" in status, not has)
    doctor = as_user(m, "u", "atsctl doctor || :")
    ats.check(has or "cgroup v2 gives no memory controller" in doctor, doctor)
    version = int(m.sh("systemctl --version").stdout.split()[1])
    inner = m.sh("find /sys/fs/cgroup%s -mindepth 1 -name host" % group).stdout
    ats.equal(bool(inner), version >= 254, "DelegateSubgroup=")


@ats.test("a user's brain that hangs is started again; restart and stop keep sessions, leave nobody",
          home=False)
def _():
    m = installed()
    m.write("/etc/systemd/user/ats-brain.service.d/test.conf", "[Service]\nWatchdogSec=2\n")
    said = as_user(m, "u", "cd p; systemctl --user daemon-reload; systemctl --user reset-failed\n"
                   "systemctl --user restart ats-brain; atsctl exec -- cat f; atsctl session ls\n"
                   "old=$(systemctl --user show -P MainPID ats-brain); kill -STOP $old\n"
                   "atsctl exec -- cat f; test $old != $(systemctl --user show -P MainPID ats-brain)\n"
                   "systemctl --user show -P NRestarts ats-brain; atsctl session ls")
    ids = re.findall(r"s-[0-9a-f]{12}", said)
    ats.equal((len(ids), len(set(ids))), (2, 1), said)
    ats.equal(re.findall(r"(?m)^(first|\d)$", said), ["first", "first", "1"])
    begin = time.monotonic()
    as_user(m, "u", "systemctl --user stop ats-brain")
    ats.check(time.monotonic() - begin < GRACE_SECONDS / 2, "stop takes as long as systemd lets it")
    ats.equal(ours(m), [])
    ats.equal(as_user(m, "u", "systemctl --user show -P Result ats-brain"), "success\n")
    ats.equal(as_user(m, "u", "cd p; atsctl exec -- cat f"), "first\n")


@ats.test("a brain of the machine: the lines of the document, four users, no capability", home=False)
def _():
    m = installed()
    ats.equal(m.sh(block("One for the machine").replace("NAME", "u") + "atsctl config check "
                   "/etc/ats/brain.json").stdout.splitlines()[-2:],
              ["configuration OK: /etc/ats/brain.json",
               "sandboxes are elsewhere: listen:wss://0.0.0.0:7443/ats"])
    ats.equal(m.sh("systemctl is-active ats-brain || :").stdout, "inactive\n")
    ats.contains(ctl(m, "status"), "healthy")
    for unit in ("ats-brain", "ats-engine"):
        pid = show(m, unit, "MainPID")
        ats.equal(m.sh("stat -c %%U /proc/%s" % pid).stdout, unit + "\n")
        ats.matches(m.sh("cat /proc/%s/status" % pid).stdout, r"(?m)^CapBnd:\s*0{16}$")
    ats.contains(ctl(m, "status", "v", code=1), "Permission denied; members of the socket's group")
    # One that comes in over the network, with a key.
    m.sh("install -d -o v /far")
    as_user(m, "u", "umask 077; atsctl --socket %s sandbox enroll --workspace /far > key" % DOOR)
    m.sh("install -o v -m 600 /home/u/key /home/v/key")
    m.sh("systemd-run --quiet --unit far -p User=v ats-hands --connect wss://127.0.0.1:7443/ats "
         "--key-file /home/v/key --workspace /far")
    ats.equal(ctl(m, "exec --workspace /far -- sh -c 'echo far > f; cat f'"), "far\n")
    ats.equal(m.sh("stat -c %U /far/f").stdout, "v\n")
    m.sh("systemctl stop far")


@ats.test("hands of a unit, for a workspace of the machine; what uses them is a user of its own",
          home=False)
def _():
    m = served()
    ats.equal(ctl(m, "exec --workspace %s -- sh -c 'echo first > f; cat f'" % ONE), "first\n")
    ats.equal(m.sh("stat -c %%U %s/f" % ONE).stdout, "ats-hands\n")
    ats.contains(ctl(m, "--json status"), '"level":"namespaces"')
    ats.equal(show(m, "ats-hands@one", "DelegateControllers"), "memory pids")
    ats.contains(m.sh("journalctl -o cat -u ats-engine").stdout, 'msg="sandbox.ready"')


@ats.test("a credential of LoadCredential=, and the lines of a drop-in", home=False)
def _():
    m = served()
    edit, _, lines = block("One for the machine", 2).partition("\n")
    ats.equal(edit, "systemctl edit ats-brain")     # an editor; what it leaves is this file
    m.write("/etc/systemd/system/ats-brain.service.d/override.conf", lines)
    m.write("/etc/ats/credentials/github", "sesame\n", 0o600)
    m.sh("cp /etc/ats/brain.json /etc/ats/before; sed -i 's/}$/, \"credentials\": {\"github\": "
         "{\"systemd\": \"github-token\"}}}/' /etc/ats/brain.json; systemctl daemon-reload")
    fresh(m)
    m.sh("systemctl restart ats-brain")
    said = m.sh("atsctl --socket %s credential test" % DOOR).stdout
    ats.matches(said, r"github +systemd +ok")
    ats.contains(ctl(m, "credential test", code=1), "only root may")
    journal = m.sh("journalctl -o cat -u ats-brain").stdout
    ats.missing(said + journal, "sesame")


@ats.test("engine and brain of the machine that hang are started again, and calls go on", home=False)
def _():
    m = served()
    for unit in ("ats-brain", "ats-engine"):
        m.write("/etc/systemd/system/%s.service.d/test.conf" % unit, "[Service]\nWatchdogSec=2\n")
    m.sh("systemctl daemon-reload")
    fresh(m)
    m.sh("systemctl restart ats-brain")
    before = ctl(m, "session ls")
    for unit, signal in (("ats-engine", "STOP"), ("ats-brain", "STOP"), ("ats-engine", "KILL"),
                         ("ats-brain", "KILL")):
        old = show(m, unit, "MainPID")
        m.sh("kill -%s %s" % (signal, old))
        ats.equal(ctl(m, "exec --workspace %s -- cat f" % ONE), "first\n", unit)
        ats.check(show(m, unit, "MainPID") not in (old, "0"), unit + " is another process")
        for each in ("ats-engine", "ats-brain"):
            ats.equal(show(m, each, "ActiveState"), "active", "%s after %s" % (each, unit))
    ats.equal(set(re.findall(r"s-\w{12}", ctl(m, "session ls"))),
              set(re.findall(r"s-\w{12}", before)))
    m.sh("rm /etc/systemd/system/ats-*.service.d/test.conf; systemctl daemon-reload")


@ats.test("a wrong configuration is one line, and systemd does not try again until it is right",
          home=False)
def _():
    m = served()
    fresh(m)
    m.sh("systemctl restart ats-brain; cp /etc/ats/brain.json /etc/ats/good\n"
         "echo '{\"nonsense\": 1}' > /etc/ats/brain.json")
    says = "unknown key \"nonsense\""
    ats.contains(m.sh("atsctl config check /etc/ats/brain.json || :").stdout, says)
    m.sh("echo '{}' > /etc/ats/brain.json")
    says = "a brain of the system starts no sandboxes"
    ats.contains(m.sh("atsctl config check /etc/ats/brain.json || :").stdout, says)
    since = m.sh("date '+%Y-%m-%d %H:%M:%S.%N'").stdout.strip()
    r = m.sh("systemctl restart ats-brain", check=False)
    ats.check(r.returncode != 0, r.stdout)
    # Nor does an engine wait, or start it again by coming.
    ats.until(lambda: show(m, "ats-brain", "ActiveState") == "failed" and
              show(m, "ats-engine", "ActiveState") in ("failed", "inactive"), "both are no more")
    tried = r"(?s)%s[^\n]*\n[^\n]*status=2/" % says
    log = m.sh("journalctl -o cat -u ats-brain --since '%s'" % since).stdout
    ats.equal(len(re.findall(tried, log)), 1, log)
    # By its priority, which none of those that only inform has.
    log = m.sh("journalctl -o cat -t ats-brain -p err --since '%s'" % since).stdout
    ats.contains(log, says)
    ats.missing(log, "level=info")
    ats.contains(m.sh("journalctl -o cat -t ats-brain -p info --since '%s'" % since).stdout, says)
    ats.contains(m.sh("journalctl -o cat -t ats-engine -p info").stdout, "ts=")
    ats.equal([show(m, x, "ActiveState") for x in DOORS], ["active", "active"])
    # Who comes now is not left waiting, and is the last.
    ctl(m, "exec --workspace %s -- true" % ONE, code=125)
    ats.until(lambda: [show(m, x, "ActiveState") for x in DOORS] == ["failed", "failed"],
              "the sockets are given up")
    log = m.sh("journalctl -o cat -u ats-brain --since '%s'" % since).stdout
    ats.check(len(re.findall(tried, log)) <= 6, log)
    m.sh("mv /etc/ats/good /etc/ats/brain.json; systemctl reset-failed 'ats-*'\n"
         "systemctl restart ats-brain")
    ats.equal(ctl(m, "exec --workspace %s -- cat f" % ONE), "first\n")


@ats.test("stop is in order and soon, under a command that runs; sandboxes of others stay", home=False)
def _():
    m = served()
    fresh(m)
    with subprocess.Popen(m.argv("su -l u -c 'atsctl --socket %s exec --workspace %s -- sh -c "
                                 "\"echo here; sleep 1000\"' 2>&1" % (DOOR, ONE)),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as client:
        ats.equal(client.stdout.readline(), "here\n")
        begin = time.monotonic()
        m.sh("systemctl stop ats-brain")
        ats.check(time.monotonic() - begin < GRACE_SECONDS / 2, "stop takes as long as it may")
        ats.contains(client.stdout.read(), "outcome is unknown")
    for unit in ("ats-brain", "ats-engine"):
        ats.equal((unit, show(m, unit, "ActiveState"), show(m, unit, "Result")),
                  (unit, "inactive", "success"))
    ats.equal(of(m, "ats-brain", "ats-engine"), [])
    ats.equal(show(m, "ats-hands@one", "ActiveState"), "active")
    ats.equal(ctl(m, "exec --workspace %s -- cat f" % ONE), "first\n")    # the socket stayed
    ats.contains(ctl(m, "shutdown", code=1), "only root may")
    m.sh("atsctl --socket %s shutdown" % DOOR)
    ats.equal(show(m, "ats-brain", "Result"), "success")
    begin = time.monotonic()
    m.sh("systemctl stop ats-hands@one")
    ats.check(time.monotonic() - begin < GRACE_SECONDS / 2, "stop takes as long as it may")
    ats.equal(of(m, "ats-hands"), [])
    m.sh("systemctl start ats-hands@one")
    ats.equal(ctl(m, "exec --workspace %s -- cat f" % ONE), "first\n")


@ats.test("an upgrade starts the machine's brain anew; hands and a user's brain go on", home=False)
def _():
    m = served()
    fresh(m)
    as_user(m, "u", "cd p; atsctl exec -- true")
    m.sh("systemctl start ats-hands@one")
    ctl(m, "exec --workspace %s -- true" % ONE)
    users = as_user(m, "u", "systemctl --user show -P MainPID ats-brain")
    old = [show(m, x, "MainPID") for x in ("ats-brain", "ats-engine", "ats-hands@one")]
    m.sh("cd /new; " + block("Debian packages"))
    new = [show(m, x, "MainPID") for x in ("ats-brain", "ats-engine", "ats-hands@one")]
    ats.equal([a == b for a, b in zip(old, new)], [False, False, True])
    ats.equal(show(m, "ats-hands@one", "NeedDaemonReload"), "no")
    ats.equal(ctl(m, "exec --workspace %s -- cat f" % ONE), "first\n")
    (box,) = set(re.findall(r"(b-\w{12})  ready", ctl(m, "status")))
    ats.matches(ctl(m, "sandbox upgrade " + box), r"fronts +2")
    ats.equal(as_user(m, "u", "cd p; atsctl exec -- cat f; systemctl --user show -P MainPID ats-brain"),
              "first\n" + users)


@ats.test("removal ends all, also what was started before an upgrade; a purge takes the state",
          home=False)
def _():
    m = served()
    fresh(m)
    as_user(m, "u", block("For each user, with systemd") + "cd p; atsctl exec -- true")
    ctl(m, "exec --workspace %s -- true" % ONE)
    # v's is a brain of another installation, at the end.
    own = "/home/v/.config/systemd/user/ats-brain.socket"
    m.sh("loginctl enable-linger v; install -d -o v %s; sed s,/ats/,/mine/, "
         "$(ls -d /usr/lib/systemd/user/ats-brain.socket /lib/systemd/user/ats-brain.socket "
         "2> /dev/null | head -n 1) > %s; chown v %s" % (os.path.dirname(own), own, own))
    as_user(m, "v", "systemctl --user daemon-reload; systemctl --user start ats-brain.socket")
    ats.equal(as_user(m, "u", "systemctl --user is-active ats-brain.socket"), "active\n")
    # A client that starts its brain again as often as it ends.
    with subprocess.Popen(m.argv("su -l v -c 'mkdir -p q; cd q; exec atsctl mcp 2> /dev/null'"),
                          text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        client.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},'
                           '"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"}}}\n')
        client.stdin.flush()
        ats.contains(client.stdout.readline(), "serverInfo")
        ats.check(len([x for x in ours(m) if x.split()[1].startswith("/usr/bin/ats-brain")]) >= 6,
                  ours(m))
        begin = time.monotonic()
        m.sh("dpkg -r ats-brain ats-hands")
        ats.check(time.monotonic() - begin < GRACE_SECONDS, "removal waits for somebody")
        left = ours(m)
        ats.equal([x for x in left if "atsctl" not in x], [])
        m.sh("kill %s" % " ".join(x.split()[0] for x in left))     # it would try for half a minute
        client.stdout.read()
    ats.equal(m.sh("systemctl list-units --plain --no-legend 'ats*'").stdout, "")
    # Nor does a user's manager listen for what is gone.
    ats.equal(as_user(m, "u", "systemctl --user is-active ats-brain.socket || :"), "inactive\n")
    ats.equal(as_user(m, "v", "systemctl --user is-active ats-brain.socket"), "active\n")
    as_user(m, "v", "systemctl --user stop ats-brain.socket; rm " + own)
    for kept in ("/var/lib/ats-engine/journal.db", "/var/lib/ats/vault", "/var/lib/ats-hands/one",
                 "/etc/ats/brain.json", "/home/u/.local/state/ats/vault", ONE + "/f"):
        ats.check(m.has(kept), kept + " is kept")
    m.sh("dpkg -P ats-brain ats-hands")
    for gone in ("/var/lib/ats", "/var/lib/ats-engine", "/var/lib/ats-hands", "/run/ats",
                 "/run/ats-hands", "/etc/systemd/system/sockets.target.wants/ats-brain.socket",
                 "/etc/systemd/system/multi-user.target.wants/ats-hands@one.service"):
        ats.equal(m.sh("ls -d %s 2> /dev/null || :" % gone).stdout, "")
    for kept in ("/home/u/.local/state/ats/vault", ONE + "/f", "/etc/ats/brain.json"):
        ats.check(m.has(kept), kept + " is kept")


def make_install(m, *more):
    r = subprocess.run(["make", "-s", "-C", ats.TOP, "-o", "all", "install", "BUILD=" + ats.BUILD,
                        "DESTDIR=" + m.top, *more], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False)
    ats.equal(r.returncode, 0, r.stdout)


@ats.test("make install, and what no package's script does then", home=False)
def _():
    m = installed()
    m.sh("dpkg -P ats-brain ats-hands 2> /dev/null; for u in ats-brain ats-engine ats-hands; do "
         "userdel $u; done; groupdel ats; rm -rf /etc/ats /srv/ats /etc/systemd/system/ats-*")
    make_install(m)
    (three,) = re.findall(r"After `make install`.*?, (`.*?) come first", OPERATING.replace("\n", " "))
    commands = re.findall(r"`([^`]+)`", three)
    ats.equal(len(commands), 3)
    m.sh("\n".join(commands))
    m.sh(block("One for the machine").replace("NAME", "u"))
    m.sh(block("One for the machine", 1).replace("NAME", "one"))
    fresh(m)
    m.sh("systemctl restart ats-brain")
    ats.equal(ctl(m, "exec --workspace %s -- sh -c 'echo first > f; cat f'" % ONE), "first\n")
    m.sh("systemctl stop ats-hands@one ats-brain.socket ats-engine.socket ats-brain")


@ats.test("make install below a home, and the user units there, by the lines of README.md", home=False)
def _():
    m = installed()
    with open(os.path.join(ats.TOP, "README.md"), encoding="utf-8") as f:
        enable, link = re.findall(r"`(systemctl --user [^`]+)`", f.read().replace("\n", " "))
    m.sh("useradd -m -s /bin/bash w; install -d -o w /home/w/p")
    make_install(m, "PREFIX=/home/w/.local")
    m.sh("chown -R w: /home/w/.local")
    said = as_user(m, "w", "PATH=~/.local/bin:$PATH\n%s\n%s\ncd p; atsctl exec -- echo here\n"
                   "systemctl --user show -P MainPID ats-brain" % (link, enable)).splitlines()
    ats.equal(said[-2], "here")
    ats.equal(m.sh("readlink /proc/%s/exe" % said[-1]).stdout, "/home/w/.local/bin/ats-brain\n")


ats.main()
