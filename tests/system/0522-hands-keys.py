#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The key of a network link: where it comes from, who has it, and flags in the environment."""
import contextlib
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from net_hands import Brain, KEY, NetHands, key_text, sh, text

USER = 12345


def holds(pid):
    """Where the process has the key."""
    found = []
    for name in ("environ", "cmdline"):
        with open("/proc/%d/%s" % (pid, name), "rb") as f:
            if KEY.hex().encode() in f.read():
                found.append(name)
    for part in ats.memory(pid):
        if KEY in part or KEY.hex().encode() in part:
            found.append("memory")
            break
    return found


@ats.test("nobody but front has the key once the box stands: memory, arguments, environment",
          home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("only root can look")
    if ats.SANITIZED:
        ats.skip("to read the sanitizers' memory takes longer than a link may be silent")
    for uid in (None, USER):
        with NetHands(uid=uid) as h:
            b = h.brain()
            b.attach()
            sh(b, h.ws, "sleep 20; true")
            ats.until(lambda: "sleep" in map(ats.comm, h.processes()), "a command runs")
            pids = [h.proc.pid, *h.processes()]
            have = {}
            for pid in pids:
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):    # a worker ends
                    have.setdefault(ats.comm(pid), []).extend(holds(pid))
            print("# %d processes: %s" % (len(pids), " ".join(sorted(have))))
            ats.check("sleep" in have and "zygote-shell" in have, have)
            ats.equal({name for name, where in have.items() if where}, {"ats-front"})
            for pid in pids:
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    for fd in os.listdir("/proc/%d/fd" % pid):
                        at = os.readlink("/proc/%d/fd/%s" % (pid, fd))
                        ats.check("key" not in at, (ats.comm(pid), at))
            b.send("control.cancel", 1, {})
            b.expect("result")


@ats.test("a key by descriptor, with what is wrong about it never printed", home=False)
def _():
    r, w = os.pipe()
    os.write(w, key_text().encode())
    os.close(w)
    os.set_inheritable(r, True)
    with NetHands("--listen", "tcp://127.0.0.1:0", "--key-fd", str(r), address=None,
                  fds=(r,)) as h:
        os.close(r)
        h.brain().attach()
    for bad in (key_text()[:-3], key_text() + "more", "ats2" + key_text()[4:], "", "x" * 1000,
                key_text().replace(":3:", ":-3:"), key_text(pin=bytes(31))):
        with NetHands(key=bad) as h:
            status, log = h.refused()
            ats.equal(status, 1)
            ats.contains(log, "atsctl sandbox enroll" if len(bad) < 250 else "more than")
            ats.check(KEY.hex()[:60] not in log, log)
            with open(h.key_path, encoding="ascii") as f:
                ats.equal(f.read(), bad, "what is no key is not removed")


@ats.test("where hands cannot listen the key's file stays: it was shown once", home=False)
def _():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with NetHands(address="tcp://127.0.0.1:%d" % taken.getsockname()[1]) as h:
            ats.contains(h.refused()[1], "in use")
            ats.check(os.path.exists(h.key_path))


@ats.test("a key's file that others may read, or that is none, is refused", home=False)
def _():
    with NetHands(mode=0o644) as h:
        ats.contains(h.refused()[1], "can be read by others (mode 644)")
        ats.check(os.path.exists(h.key_path))
    with NetHands(mode=0o640) as h:
        ats.contains(h.refused()[1], "chmod 600")
    with NetHands("--listen", "tcp://127.0.0.1:0", "--key-file", "/dev/null",
                  address=None) as h:
        ats.contains(h.refused()[1], "is no regular file")
    if os.geteuid() == 0:
        with NetHands(owner=USER) as h:
            ats.contains(h.refused()[1], "belongs to user 12345")


@ats.test("a key's file that cannot be removed must lie where no tool reads", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("only root can set the stage")
    for where, fine in (("key-dir", True), ("ws/sub", False), ("state/sub", False)):
        with NetHands(uid=USER, keep_in=where) as h:
            if fine:
                h.brain().attach()
                ats.check(os.path.exists(h.key_path))
            else:
                status, log = h.refused()
                ats.check(status != 0, log)
                ats.contains(log, "remedy: mount it elsewhere")


@ats.test("network links want a key, and TLS beyond this machine", home=False)
def _():
    rows = ((("--listen", "tcp://127.0.0.1:0"), "both sides prove who they are"),
            (("--listen", "ws://127.0.0.1:0/x"), "atsctl sandbox enroll"),
            (("--connect", "tls://127.0.0.1:1"), "--key-file FILE or --key-fd N"),
            (("--listen", "tcp://0.0.0.0:0", "--key-fd", "0"), "--allow-plain"),
            (("--connect", "ws://192.0.2.1:1/x", "--key-fd", "0"), "use wss://"),
            (("--listen", "unix:/a", "--connect", "unix:/b"), "not both"),
            (("--listen", "tcp://127.0.0.1:0", "--key-fd", "0", "--key-file", "x"), "not both"),
            (("--listen", "http://127.0.0.1:1"), "--listen: "))
    for flags, says in rows:
        with NetHands(*flags, address=None) as h:
            status, log = h.refused()
            ats.equal(status, 2, log)
            ats.contains(log, says)
    with NetHands("--allow-plain", address="tcp://0.0.0.0:0") as h:
        h.brain().attach()


@ats.test("flags in the environment: the command line wins, and nothing started has them",
          home=False)
def _():
    path = {"PATH": os.environ["PATH"]}
    with NetHands(address=None, env_of=lambda h: {
            **path, "ATS_HANDS_LISTEN": "tcp://127.0.0.1:0", "ATS_HANDS_KEY_FILE": h.key_path,
            "ATS_HANDS_OPTION_ENV": "SEEN=yes", "ATS_HANDS_PORT": "tcp://10.0.0.1:80",
            "ATS_HANDS_ALLOW_PLAIN": "0"}, command=("sh", "-c", "env; exec sleep 60")) as h:
        b = h.brain()
        b.attach()
        sh(b, h.ws, "echo $SEEN; env | grep ATS_HANDS_")
        ats.contains(text(b), "yes")
        ats.until(lambda: "PATH=" in h.log(), "the command's environment")
        ats.equal([x for x in h.log().split("\n") if x.startswith("ATS_HANDS_")],
                  ["ATS_HANDS_PORT=tcp://10.0.0.1:80"])
    with NetHands(env={**path, "ATS_HANDS_LISTEN": "unix:/nowhere/x", "ATS_HANDS_KEY_FD": "9"}) as h:
        h.brain().attach()
    for name, value, says in (("LISTEN", "x", "ATS_HANDS_LISTEN: "),
                              ("STDIO", "yes", "ATS_HANDS_STDIO: expected 0 or 1"),
                              ("OPTION_NET", "x", "ATS_HANDS_OPTION_NET: net=x")):
        with NetHands(env={**path, "ATS_HANDS_" + name: value}) as h:
            status, log = h.refused()
            ats.equal(status, 2)
            ats.contains(log, says)


@ats.test("a Unix socket asks for no proof, with a key or without", home=False)
def _():
    with NetHands(address="unix:/tmp/ats-net-%d.sock" % os.getpid()) as h:
        where = "/tmp/ats-net-%d.sock" % os.getpid()
        ats.until(lambda: os.path.exists(where), "the socket")
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
        b = Brain(s)
        b.hello_as_brain()
        sh(b, h.ws, "echo hi")
        ats.equal(text(b), "hi")


ats.main()
