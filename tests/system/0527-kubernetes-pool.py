#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/kubernetes with a SandboxWarmPool: pods that run before anybody knows whose they will be
get their key afterwards, only their own, and without one connect to nobody."""
import os
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kube
from kube import finish, manifest, start, tool

POOL = {"ATS_KUBE_POOL": "ats-pool"}


def rig(home, replicas=1, tls=None):
    c = kube.rig(home, role="role-pool", template="pool-template", tls=tls)
    pool = manifest("pool")
    pool["spec"]["replicas"] = replicas
    with open(home.dir + "/template.json", encoding="utf-8") as f:
        template = kube.json.load(f)
    with c.lock:
        c.put("sandboxtemplates", template)
        c.put("sandboxwarmpools", pool)
        c.settle()
    for name in c.pods:
        waits(c, name)
    return c


def waits(c, name):
    ats.until(lambda: "waits for its key" in c.pod_log(name), "hands of %s waits" % name)
    ats.equal(os.listdir(c.key_dir(name) + "/key"), [])


def key_of(c, name):
    with open(c.key_dir(name) + "/key/key", encoding="ascii") as f:
        return f.read()


def box_of(c, claim):
    return c.get("sandboxclaims", claim)["status"]["sandbox"]["name"]


def has_own_key(c, claim):
    ats.contains(key_of(c, box_of(c, claim)), "ats1:%s:" % claim[4:])


def workspace(home, name):
    return home.dir + "/pool/" + name


def serves(home, ws):
    r = home.ctl("exec", "--workspace", ws, "--", "sh", "-c", "pwd; ls -A | wc -l", code=0)
    ats.equal(r.stdout.split(), [ws.encode(), b"0"])


@ats.test("a claim gets a warm pod, and that its key; the pool is filled again; down removes the pod")
def _(home):
    c = rig(home)
    warm, = c.pods
    pid, ws = c.pods[warm].pid, workspace(home, "one")
    claim = tool(home, c, "up", ws, **POOL)[0].strip()
    ats.equal(box_of(c, claim), warm)
    ats.equal(c.pods[warm].pid, pid, "the pod that was warm")
    serves(home, ws)
    ats.matches(key_of(c, warm), "ats1:%s:.*\nworkspace=%s\n\n$" % (claim[4:], ws))
    ats.equal(os.stat(c.key_dir(warm) + "/key/key").st_mode & 0o777, 0o400)
    other, = set(c.pods) - {warm}
    waits(c, other)
    # Asked again nothing changes, and no key is made; the container's next start has the same one.
    key = key_of(c, warm)
    ats.equal(tool(home, c, "up", ws, **POOL)[0].strip(), claim)
    ats.equal(tool(home, c, "status", ws, **POOL)[0], claim + " ready\n")
    c.kill_container(warm)
    c.start_container(warm)
    serves(home, ws)
    ats.equal(key_of(c, warm), key)
    # The key was in no object of the cluster, and nothing but what the Role names was asked for.
    ats.missing(kube.json.dumps([list(map(str, k)) + [v] for k, v in c.kept.items()]), "ats1:")
    ats.equal({r for _, r, _ in c.log} - {"sandboxclaims", "sandboxes", "sandboxtemplates",
                                          "sandboxwarmpools", "pods", "pods/exec"}, set())
    now = c.pods[warm].pid
    tool(home, c, "down", ws, **POOL)
    ats.equal(ats.wait_gone({now}, 10), [])
    ats.equal(set(c.pods), {other}, "never back into the pool")
    ats.check(c.get("sandboxwarmpools", "ats-pool") and c.get("sandboxtemplates", "ats-pool"))
    waits(c, other)
    home.ctl("shutdown", code=0)


@ats.test("an empty pool: the claim's pod is started cold, and gets its key the same way")
def _(home):
    c = rig(home, replicas=0)
    ats.equal(c.pods, {})
    ws = workspace(home, "cold/below")
    claim = tool(home, c, "up", ws, **POOL)[0].strip()
    ats.equal(list(c.pods), [claim])
    serves(home, ws)
    tool(home, c, "down", ws, **POOL)
    ats.equal(c.pods, {})
    home.ctl("shutdown", code=0)


@ats.test("two claims at once: one gets the warm pod, each its own key")
def _(home):
    c = rig(home)
    warm, = c.pods
    both = [workspace(home, n) for n in ("left", "right")]
    runs = [start(home, c, "up", ws, **POOL) for ws in both]
    claims = [finish(c, p)[0].strip() for p in runs]
    boxes = [box_of(c, n) for n in claims]
    ats.equal(len(set(boxes)), 2)
    ats.check(warm in boxes, boxes)
    for claim, box, ws in zip(claims, boxes, both):
        has_own_key(c, claim)
        serves(home, ws)
    home.ctl("shutdown", code=0)


@ats.test("a claim that says it has another one's pod gives that nothing, until it is put right")
def _(home):
    c = rig(home)
    warm, = c.pods
    first = tool(home, c, "up", workspace(home, "first"), **POOL)[0].strip()
    key = key_of(c, warm)
    c.adopt = lambda _c, _claim: warm       # a status that is wrong: the sandbox is the first's
    ws = workspace(home, "second")
    before = len(c.log)
    _, err = tool(home, c, "up", ws, code=1, ATS_KUBE_READY_S="1", **POOL)
    ats.contains(err, "has no key after 1 s: the sandbox %s is not this claim's" % warm)
    ats.check(all(r != "pods/exec" for _, r, _ in c.log[before:]))
    ats.equal(key_of(c, warm), key)
    # Nor a pod that has the name, and is not its sandbox's.
    other, = set(c.pods) - {warm}
    c.adopt = lambda cl, claim: (cl.own(cl.get("sandboxes", other), claim), other)[1]
    c.own(c.get("pods", other), c.get("sandboxes", warm))
    _, err = tool(home, c, "up", workspace(home, "third"), code=1, ATS_KUBE_READY_S="1", **POOL)
    ats.contains(err, "the sandbox %s has no pod" % other)
    ats.check(all(r != "pods/exec" for _, r, _ in c.log[before:]))
    c.adopt = None
    for claim in c.of("sandboxclaims"):
        if claim["metadata"]["name"] != first:
            del claim["status"]
    with c.lock:
        c.settle()
    second = tool(home, c, "up", ws, **POOL)[0].strip()
    ats.check(second != first)
    serves(home, ws)
    # And one whose pod, of whatever cause, has the key of another: it is not replaced.
    box = box_of(c, second)
    path = c.key_dir(box) + "/key/key"
    os.unlink(path)
    with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o400)) as f:
        f.write(key)
    _, err = tool(home, c, "up", ws, code=1, **POOL)
    ats.contains(err, "has the key of another sandbox, %s; remedy: " % first[4:])
    home.ctl("shutdown", code=0)


@ats.test("a pod that dies before it has its key, at each step: the next one of the claim gets one")
def _(home):
    c = rig(home)
    times = []

    def replaced(cluster, name):
        """Once: the pod is another one by now."""
        if not times:
            times.append(cluster.get("pods", name)["metadata"]["uid"])
            cluster.kill_pod(name)
        return True

    for n, step in enumerate(("at_exec", "at_message")):
        times.clear()
        setattr(c, step, replaced)
        ws = workspace(home, "dies%d" % n)
        claim = tool(home, c, "up", ws, **POOL)[0].strip()
        setattr(c, step, None)
        box = box_of(c, claim)
        ats.check(c.get("pods", box)["metadata"]["uid"] != times[0])
        has_own_key(c, claim)
        serves(home, ws)
    # One that has been replaced later waits; it is asked for again, and gets another key.
    old = key_of(c, box)
    c.kill_pod(box)
    waits(c, box)
    tool(home, c, "up", ws, **POOL)
    ats.check(key_of(c, box) != old)
    serves(home, ws)
    home.ctl("shutdown", code=0)


@ats.test("a pod that has failed gets no successor: up says so at once, status as well")
def _(home):
    c = rig(home)
    ws = workspace(home, "evicted")
    name = tool(home, c, "up", ws, **POOL)[0].strip()
    claim = c.get("sandboxclaims", name)
    claim["status"]["conditions"] = kube.ready(False) + [
        {**kube.ready(True)[0], "type": "Finished", "reason": "PodFailed"}]
    for env in (POOL, {}):
        ats.equal(tool(home, c, "status", ws, **env)[0], name + " ended\n")
    _, err = tool(home, c, "up", ws, code=1, ATS_KUBE_READY_S="3600", **POOL)
    ats.matches(err, "the pod of %s has ended.*remedy: ats-kubernetes down, and up again" % name)
    tool(home, c, "down", ws, **POOL)
    tool(home, c, "up", ws, **POOL)
    serves(home, ws)
    home.ctl("shutdown", code=0)


@ats.test("a pod that becomes another claim's while it is asked: nothing is sent to it")
def _(home):
    c = rig(home)
    warm, = c.pods
    first = tool(home, c, "up", workspace(home, "first"), **POOL)[0].strip()
    other, = set(c.pods) - {warm}
    sent = []

    def taken(cluster, name):
        cluster.own(cluster.get("sandboxes", name), cluster.get("sandboxclaims", first))
        return True

    c.at_exec, c.at_message = taken, lambda _c, name: sent.append(name)
    _, err = tool(home, c, "up", workspace(home, "second"), code=1, ATS_KUBE_READY_S="1", **POOL)
    ats.contains(err, "the sandbox %s is not this claim's" % other)
    ats.equal(sent, [])
    waits(c, other)
    home.ctl("shutdown", code=0)


@ats.test("connections that end after each step, and a cluster that refuses exec")
def _(home):
    c = rig(home)
    left = []

    def cut(_c, _name):
        left.append(1)
        return len(left) > 2

    for step in ("at_exec", "at_message"):
        left.clear()
        setattr(c, step, cut)
        ws = workspace(home, step)
        tool(home, c, "up", ws, **POOL)
        ats.check(len(left) > 2, left)
        setattr(c, step, None)
        serves(home, ws)
    c.rules = [r for r in c.rules if r["resources"] != ["pods/exec"]]
    _, err = tool(home, c, "up", workspace(home, "refused"), code=1, **POOL)
    ats.contains(err, "exec: the cluster answers 403; ")
    ats.contains(err, "role-pool.json")
    home.ctl("shutdown", code=0)


def frame(data, head=b"\x82"):
    return head + bytes([len(data)]) + data


def kinds(heard):
    """The first bytes of a client's frames, which are short; their masks are any bytes."""
    out = []
    while len(heard) >= 2:
        out.append(heard[0])
        heard = heard[2 + 4 + (heard[1] & 0x7f):]
    return out


@ats.test("answers of exec that are none: said in one line, and no key is sent")
def _(home):
    c = rig(home)
    ws = workspace(home, "bad")
    for say, says in (
            (b"HTTP/1.1 500 Oops\r\n\r\n", "the cluster answers 500"),
            (b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + frame(b"\1wants\n"), "answers 101"),
            (b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: AAAA\r\n\r\n", "answers 101"),
            (b"HTTP/" + b"x" * (2 << 20), "the connection ended"),
            (b"\x82\x87abcd" + b"wants\n", "an answer that is none"),
            (b"\x82\x7f" + b"\x7f" + b"\xff" * 7, "an answer that is none"),
            (frame(b"\1wants\n", b"\x02"), "an answer that is none"),
            (frame(b"\1" + b"x" * 120) * 10, "a line that is none"),
            (frame(b"\1took b-000000000000\n"), "nothing that is known"),
            (frame(b"\1has ../../etc\n"), "nothing that is known"),
            (frame(b"\2no \x1b[2J such\n"), "exec: no ?[2J such"),
            (frame(b"\3{}"), "exec: {}"),
            (frame(b"\x03\xe8", b"\x88"), "the command ended"),
            (frame(b"\1") + frame(b"", b"\x89") + frame(b"") + frame(b"\3x"), "exec: x")):
        c.say = say
        _, err = tool(home, c, "up", ws, code=1, ATS_KUBE_READY_S="0", **POOL)
        ats.matches(err, "^ats-kubernetes: [^\n]*\n$")
        ats.contains(err, says)
        ats.missing(kinds(c.heard), 0x82)       # no message: at most a pong
    c.say = None
    tool(home, c, "up", ws, **POOL)
    serves(home, ws)
    home.ctl("shutdown", code=0)


@ats.test("over TLS: the cluster's certificate is looked at before the token or a key is sent")
def _(home):
    cert, key, other = (home.dir + "/" + n for n in ("cert", "cert.key", "other"))
    for name in (other, cert):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", name, "-days", "1",
                        "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                       stderr=subprocess.DEVNULL)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    c = rig(home, tls=tls)
    ws = workspace(home, "tls")
    _, err = tool(home, c, "up", ws, code=1, ATS_KUBE_CA_FILE=other, **POOL)
    ats.contains(err, "CERTIFICATE_VERIFY_FAILED")
    ats.equal(c.log, [])
    tool(home, c, "up", ws, ATS_KUBE_CA_FILE=cert, **POOL)
    serves(home, ws)
    _, err = tool(home, c, "up", ws, code=1, ATS_KUBE_API=c.base.replace("https://127.0.0.1",
                                                                        "http://localhost"), **POOL)
    ats.contains(err, "a token goes over https only")
    home.ctl("shutdown", code=0)


@ats.test("a pool that is not there, is no such pool, or has workspaces elsewhere: before a key is made")
def _(home):
    c = rig(home, replicas=0)
    ws = workspace(home, "x")
    for env, at, says in (
            ({"ATS_KUBE_POOL": "none"}, ws, "no SandboxWarmPool none; kubectl apply"),
            (POOL, home.ws, "have workspaces at and below %s/pool, not" % home.dir),
            (POOL, ws + "/../../up", "have workspaces at and below"),
            (POOL, home.dir + "/pool-not", "have workspaces at and below")):
        _, err = tool(home, c, "up", at, code=1, **env)
        ats.contains(err, says)
    args = c.get("sandboxtemplates", "ats-pool")["spec"]["podTemplate"]["spec"]["containers"][0]["args"]
    n = args.index("--key-wait")
    del args[n:n + 2]
    _, err = tool(home, c, "up", ws, code=1, **POOL)
    ats.contains(err, "want a container hands with --key-wait")
    del c.kept["sandboxtemplates", "ats-pool"]
    _, err = tool(home, c, "up", ws, code=1, **POOL)
    ats.contains(err, "has no SandboxTemplate ats-pool")
    ats.equal(c.of("sandboxclaims"), [])
    ats.contains(home.ctl("session", "ls").stderr, b"no brain runs")


@ats.test("a key that comes is seen at once: no connection before it, one soon after")
def _(home):
    c = rig(home)
    warm, = c.pods
    ats.equal(ats.descendants(c.pods[warm].pid), set(), "no dialer, no box")
    tool(home, c, "up", workspace(home, "now"), **POOL)
    ats.until(lambda: ats.descendants(c.pods[warm].pid), "a box")
    ats.missing(c.pod_log(warm), "ats1:")
    home.ctl("shutdown", code=0)


@ats.test("keep: the pod of a claim that is made anew gets a key, and calls go on; nobody else's does")
def _(home):
    c = rig(home)
    one, two = workspace(home, "one"), workspace(home, "two")
    for ws in (one, two):
        tool(home, c, "up", ws, **POOL)
        serves(home, ws)
    boxes = {cl["metadata"]["name"]: cl["status"]["sandbox"]["name"] for cl in c.of("sandboxclaims")}
    names = [next(n for n in boxes if key_of(c, boxes[n]).endswith("=%s\n\n" % ws))
             for ws in (one, two)]
    tool(home, c, "down", two, **POOL)
    warm, = set(c.pods) - {boxes[names[0]]}
    old, execs = key_of(c, boxes[names[0]]), []
    c.at_exec = lambda _c, name: execs.append(name)
    p = start(home, c, "keep", ATS_KUBE_KEEP_S="0.2", **POOL)
    os.set_blocking(p.stderr.fileno(), False)

    def said(text):
        said.all += p.stderr.read() or b""
        return text.encode() in said.all
    said.all = b""
    try:
        # The cluster is away at first, which is said once, and brain, too.
        c.refuse = 500
        c.kill_pod(boxes[names[0]])
        waits(c, boxes[names[0]])
        ats.until(lambda: said("%s (%s): GET sandboxclaims: the cluster answers 500\n" % (
            names[0][4:], one)), "it is told")
        ats.equal(execs, [])
        c.refuse = None
        serves(home, one)               # waits for the sandbox, which nobody else brings back
        ats.until(lambda: said("%s (%s): its pod has a key\n" % (names[0][4:], one)), "it is told")
        ats.check(key_of(c, boxes[names[0]]) != old)
        ats.equal(execs, [boxes[names[0]]])
        # Again, in the middle of its getting the key, and while brain is another one.
        home.ctl("shutdown", code=0)
        c.at_message = lambda cl, _name: bool(cl.__dict__.setdefault("cut", []) or cl.cut.append(1))
        c.kill_pod(boxes[names[0]])
        serves(home, one)
        ats.equal(c.cut, [1])
        waits(c, warm)
        ats.equal(set(execs), {boxes[names[0]]})
        said("")
        ats.equal(len([x for x in said.all.splitlines() if names[0][4:].encode() in x and
                       b"answers 500" in x]), 1)
        ats.equal(p.poll(), None)
        ats.missing(said.all, b"ats1:")
        ats.equal([v for v, r, _ in c.log if r == "sandboxclaims" and v not in ("get",)],
                  ["create", "create", "delete"])
    finally:
        p.terminate()
        p.communicate()
    home.ctl("shutdown", code=0)
    _, err = tool(home, c, "keep", code=1)
    ats.contains(err, "keep is for the pods of ATS_KUBE_POOL")


ats.main()
