# SPDX-License-Identifier: Apache-2.0
"""A cluster, as far as packaging/kubernetes sees one: an API server with the schemas of kube_schema
and the rules of a Role, what the controllers of agent-sandbox do with claims and pools, and pods that
are processes: ats-hands with the volumes of its key, and exec into them."""
import base64
import hashlib
import http.server
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import urllib.parse
import uuid

import ats
import kube_schema

HERE = os.path.join(ats.TOP, "packaging", "kubernetes")
TOKEN = "the-cluster-token"
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}


def manifest(name):
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as f:
        return json.load(f)


def owner(obj):
    return next((r for r in obj["metadata"].get("ownerReferences", []) if r["controller"]), None)


def ready(yes):
    return [{"type": "Ready", "status": "True" if yes else "False", "reason": "Test", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]


class Cluster(http.server.ThreadingHTTPServer):
    """refuse: a status for every request. adopt(cluster, claim): the name of the sandbox that a claim
    gets, in place of what a pool has. say: what exec answers in place of a command, after the head of
    the answer, which is part of it if it begins as one; heard: what then came.
    at_exec(cluster, pod name), once the command runs, and at_message(cluster, pod name), when the
    first message comes: False ends the connection."""
    daemon_threads = True
    handler = None                      # Handler, below
    attach = None                       # the socket that "/ats-hands attach" finds in a pod

    def __init__(self, home, role="role", tls=None):
        super().__init__(("127.0.0.1", 0), self.handler)
        self.base = "http%s://127.0.0.1:%d" % ("s" if tls else "", self.server_address[1])
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.home, self.kept, self.pods, self.wrong, self.log = home, {}, {}, [], []
        self.commands = []              # (pod name, process) of exec
        self.rules, self.serial, self.refuse = manifest(role)["rules"], 0, None
        self.adopt = self.at_exec = self.at_message = self.say = None
        self.heard = b""
        self.lock = threading.RLock()
        threading.Thread(target=self.serve_forever, daemon=True).start()
        home.open_things.append(self)

    # ---- objects
    def may(self, verb, group, resource):
        return any(group in r["apiGroups"] and resource in r["resources"] and verb in r["verbs"]
                   for r in self.rules)

    def of(self, plural):
        return [o for (p, _), o in list(self.kept.items()) if p == plural]

    def get(self, plural, name):
        return self.kept.get((plural, name))

    def put(self, plural, obj):
        kube_schema.validate(plural, obj)
        self.serial += 1
        obj["metadata"]["resourceVersion"] = str(self.serial)
        obj["metadata"].setdefault("uid", str(uuid.uuid4()))
        self.kept[plural, obj["metadata"]["name"]] = obj

    def own(self, obj, by):
        obj["metadata"]["ownerReferences"] = [{
            "apiVersion": by["apiVersion"], "kind": by["kind"], "name": by["metadata"]["name"],
            "uid": by["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}]

    def remove(self, plural, name):
        """With what it owns, as the garbage collector does."""
        uid = self.kept.pop((plural, name))["metadata"]["uid"]
        if plural == "pods":
            self.end_pod(name)
        for p, n in list(self.kept):
            below = self.kept.get((p, n))
            if below is not None and (owner(below) or {}).get("uid") == uid:
                self.remove(p, n)

    # ---- controllers
    def settle(self):
        for pool in self.of("sandboxwarmpools"):
            template = self.get("sandboxtemplates", pool["spec"]["sandboxTemplateRef"]["name"])
            have = [s for s in self.of("sandboxes")
                    if (owner(s) or {}).get("uid") == pool["metadata"]["uid"]]
            for _ in range(pool["spec"]["replicas"] - len(have) if template else 0):
                self.make_sandbox("%s-%s" % (pool["metadata"]["name"], uuid.uuid4().hex[:5]),
                                  template, pool)
        for claim in self.of("sandboxclaims"):
            if "sandbox" not in claim.get("status", {}):
                self.bind(claim)
        for box in self.of("sandboxes"):
            name = box["metadata"]["annotations"]["agents.x-k8s.io/pod-name"]
            if self.get("pods", name) is None:
                self.start_pod(name, box)

    def make_sandbox(self, name, template, by):
        box = {"apiVersion": kube_schema.CORE, "kind": "Sandbox", "metadata": {
            "name": name, "annotations": {"agents.x-k8s.io/pod-name": name}},
            "spec": {"podTemplate": json.loads(json.dumps(template["spec"]["podTemplate"])),
                     "operatingMode": "Running"}, "status": {"conditions": ready(True)}}
        self.own(box, by)
        self.put("sandboxes", box)
        return name

    def bind(self, claim):
        """A sandbox of the pool, which leaves it; else one of its template, named as the claim."""
        pool = self.get("sandboxwarmpools", claim["spec"]["warmPoolRef"]["name"])
        if pool is None:
            claim["status"] = {"conditions": ready(False)}
            return
        warm = [s for s in self.of("sandboxes")
                if (owner(s) or {}).get("uid") == pool["metadata"]["uid"]]
        if self.adopt:
            name = self.adopt(self, claim)
        elif warm:
            self.own(warm[0], claim)
            name = warm[0]["metadata"]["name"]
        else:
            name = self.make_sandbox(claim["metadata"]["name"], self.get(
                "sandboxtemplates", pool["spec"]["sandboxTemplateRef"]["name"]), claim)
        claim["status"] = {"conditions": ready(True), "sandbox": {"name": name}}
        self.put("sandboxclaims", claim)
        self.settle()           # which fills the pool again

    # ---- pods
    def key_dir(self, name):
        return os.path.join(self.home.dir, "pod-" + name, self.get("pods", name)["metadata"]["uid"])

    def start_pod(self, name, box):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
               "spec": box["spec"]["podTemplate"]["spec"], "status": {"phase": "Running"}}
        self.own(pod, box)
        self.put("pods", pod)
        top = self.key_dir(name)
        os.makedirs(top + "/key", 0o700)
        os.makedirs(top + "/state", 0o700)
        self.start_container(name)

    def start_container(self, name):
        """Again, with what its volumes have, as a kubelet does when one has ended."""
        top, pod = self.key_dir(name), self.get("pods", name)
        for v in pod["spec"]["volumes"]:
            for source in v.get("projected", {}).get("sources", []):
                # There it could not be removed: the kubelet's mount is read-only.
                secret = self.get("secrets", source["secret"]["name"])
                with open(top + "/key/key", "w", encoding="ascii",
                          opener=lambda p, f: os.open(p, f, 0o600)) as f:
                    f.write(secret["stringData"]["key"])
        one = pod["spec"]["containers"][0]
        ats.equal(one["command"][0], "/ats-hands")
        args = [top + "/key/key" if a == "/run/ats-key/key" else a
                for a in one["command"][1:] + one["args"]]
        with open(top + "/log", "ab") as log:
            self.pods[name] = self.home.popen(ats.program("ats-hands"), *args, "--state-dir",
                                              top + "/state", stdin=log, stdout=log, stderr=log)

    def pod_log(self, name):
        with open(self.key_dir(name) + "/log", encoding="utf-8") as f:
            return f.read()

    def kill_container(self, name):
        p = self.pods[name]
        below = ats.descendants(p.pid)
        os.kill(p.pid, signal.SIGKILL)
        p.wait()
        ats.wait_gone(below, 10)

    def kill_pod(self, name):
        """With its volumes; its sandbox gets another one of that name."""
        with self.lock:
            self.remove("pods", name)
            self.settle()

    def end_pod(self, name):
        for at, p in list(self.commands):
            if at == name:
                p.kill()
        p = self.pods.pop(name, None)
        if p is not None:
            p.terminate()
            p.wait()

    def close(self):
        for name in list(self.pods):
            self.end_pod(name)
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def setup(self):
        super().setup()
        self.writing = threading.Lock()         # of frames

    def log_message(self, *_):
        pass

    def answer(self, code, obj):
        body = json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        if code == 302:
            self.send_header("Location", self.server.base + "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        c = self.server
        at = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(at.query)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        if self.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(401, {})
        m = re.fullmatch(r"/(?:api/v1|apis/([a-z0-9.-]+)/v1beta1)/namespaces/ats/([a-z]+)"
                         r"(?:/([a-z0-9.-]+))?(?:/(exec))?", at.path)
        ats.check(m, "no such path: " + at.path)
        group, plural, name, sub = m[1] or "", m[2], m[3], m[4]
        version = kube_schema.KINDS[plural][0]
        ats.equal(version, group + "/v1beta1" if group else "v1")
        resource = plural + "/exec" if sub else plural
        verbs = ["get", "create"] if sub else [VERBS[self.command]]
        c.log.append((verbs[-1], resource, name))
        if c.refuse or not all(c.may(v, group, resource) for v in verbs):
            return self.answer(c.refuse or 403, {"message": json.dumps(body)})
        if sub:
            return self.exec(name, query)
        if body is not None:
            ats.equal(query, {"fieldValidation": ["Strict"]})
            kube_schema.validate(plural, body)
            ats.check("status" not in body, "the status is the controller's")
            name = name or body["metadata"]["name"]
        with c.lock:
            return self.answer(*self.change(c, plural, name, body))

    def change(self, c, plural, name, body):
        old = c.get(plural, name)
        if self.command == "POST":
            if old is not None:
                return 409, {}
            c.put(plural, body)
            c.settle()
            return 201, c.get(plural, name)
        if old is None:
            return 404, {}
        if self.command == "PUT":
            if body["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
                return 409, {}
            body["metadata"]["uid"] = old["metadata"]["uid"]
            c.put(plural, body)
            c.settle()
        elif self.command == "DELETE":
            c.remove(plural, name)
            c.settle()
            return 200, {}
        return 200, c.get(plural, name) or old

    # ---- exec
    def exec(self, name, query):
        c = self.server
        ats.equal(query["container"] + query["stdin"], ["hands", "true"])
        # kubectl's, and that of ats-kubernetes; the newer one can say that stdin ends.
        wants = self.headers.get("Sec-WebSocket-Protocol") or ""
        speaks = "v5.channel.k8s.io" if "v5.channel" in wants else "v4.channel.k8s.io"
        ats.contains(wants, speaks)
        if c.get("pods", name) is None:
            return self.answer(404, {})
        accept = base64.b64encode(hashlib.sha1((
            self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        ).encode()).digest()).decode()
        if c.say is not None and c.say[:5] == b"HTTP/":
            return self.say()
        self.wfile.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                          "Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: "
                          "%s\r\n\r\n" % (accept, speaks)).encode())
        self.close_connection = True
        if c.say is not None:
            return self.say()
        program, *args = query["command"]
        if program != "/ats-hands":
            return self.frame(b"\3" + json.dumps({"status": "Failure", "message": "not found"}).encode())
        if args == ["attach"] and c.attach:
            args += ["--socket", c.attach]
        args = [c.key_dir(name) + "/key/key" if a == "/run/ats-key/key" else a for a in args]
        p = subprocess.Popen([ats.program("ats-hands"), *args], env=c.home.env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        c.commands.append((name, p))
        if c.at_exec and c.at_exec(c, name) is False:
            self.connection.shutdown(socket.SHUT_RDWR)
        feeder = threading.Thread(target=self.feed, args=(p, name), daemon=True)
        feeder.start()
        errors = threading.Thread(target=self.pass_on, args=(b"\2", p.stderr), daemon=True)
        errors.start()
        self.pass_on(b"\1", p.stdout)
        errors.join()
        code = p.wait()
        self.frame(b"\3" + json.dumps({"metadata": {}, "status": "Failure" if code else "Success"}
                                      ).encode())
        self.frame(struct.pack(">H", 1000), 8)
        return None

    def pass_on(self, channel, pipe):
        while got := os.read(pipe.fileno(), 32768):
            self.frame(channel + got)

    def say(self):
        self.close_connection = True
        try:
            self.wfile.write(self.server.say)
            while got := self.connection.recv(4096):
                self.server.heard += got
        except OSError:
            pass

    def feed(self, p, name):
        """stdin, of what the client sends; its end is the command's."""
        c = self.server
        try:
            while True:
                b0, b1 = self.rfile.read(2)
                ats.check(b1 & 0x80, "a client's frame is masked")
                n = b1 & 0x7f
                if n > 125:
                    n = struct.unpack(*((">H", self.rfile.read(2)) if n == 126 else
                                        (">Q", self.rfile.read(8))))[0]
                mask = self.rfile.read(4)
                data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(n)))
                if b0 & 15 == 8:
                    break
                if b0 & 15 == 9:
                    self.frame(data, 10)
                    continue
                if c.at_message and c.at_message(c, name) is False:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    break
                if data[:1] == b"\0":
                    p.stdin.write(data[1:])
                    p.stdin.flush()
                elif data == b"\xff\0":
                    break
        except (OSError, ValueError):
            pass
        finally:
            try:
                p.stdin.close()
            except OSError:
                pass

    def frame(self, data, op=2):
        head = bytes([0x80 | op]) + (bytes([len(data)]) if len(data) < 126 else
                                     struct.pack(">BH", 126, len(data)))
        try:
            with self.writing:
                self.wfile.write(head + data)
        except OSError:
            pass                        # the client is gone

    def handle_checked(self):
        try:
            self.handle_one()
        except (ats.Failure, kube_schema.Invalid, KeyError, ValueError) as e:
            self.server.wrong.append(repr(e))
            self.answer(422, {})

    do_GET = do_POST = do_PUT = do_DELETE = handle_checked


Cluster.handler = Handler


# ---- a brain that listens, and the tool -----------------------------------------------------
def rig(home, role="role", template="template", tls=None, kind=Cluster):
    """The cluster, of that kind, with template and token as files of home. A workspace of pool-template.json lies
    below home.dir/pool."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    home.configure({"sandbox": {"url": "listen:wss://127.0.0.1:%d/ats" % port}})
    t = manifest(template)
    args = t["spec"]["podTemplate"]["spec"]["containers"][0]["args"]
    args[args.index("--connect") + 1] = "wss://127.0.0.1:%d/ats" % port
    os.makedirs(home.dir + "/pool", exist_ok=True)
    if template == "pool-template":
        args[args.index("--workspace") + 1] = home.dir + "/pool"
    with open(home.dir + "/template.json", "w", encoding="utf-8") as f:
        json.dump(t, f)
    with open(home.dir + "/token", "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    return kind(home, role, tls)


def start(home, cluster, *args, **env):
    return subprocess.Popen(
        [os.path.join(HERE, "ats-kubernetes"), *args], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**home.env, "ATS_KUBE_API": cluster.base, "ATS_KUBE_NAMESPACE": "ats",
             "ATS_KUBE_TOKEN_FILE": home.dir + "/token", "ATS_CTL": ats.program("atsctl"),
             "ATS_KUBE_TEMPLATE": home.dir + "/template.json", "ATS_KUBE_READY_S": "20", **env})


def finish(cluster, p, code=0):
    out, err = p.communicate(timeout=60)
    ats.equal(cluster.wrong, [])
    ats.equal(p.returncode, code, err)
    for secret in (b"ats1:", TOKEN.encode()):
        ats.missing(out + err, secret)
    return out.decode(), err.decode()


def tool(home, cluster, *args, code=0, **env):
    return finish(cluster, start(home, cluster, *args, **env), code)
