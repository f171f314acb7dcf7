#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/kubernetes against an API server that this test plays: it takes what the CRDs of
agent-sandbox take, and runs a claim's pod as a process: hands, with the key from its Secret, which
comes in to a real brain."""
import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

HERE = os.path.join(ats.TOP, "packaging", "kubernetes")
TOKEN = "the-cluster-token"
NAME = (str, True)
META = ({"name": NAME, "labels": (dict, False), "resourceVersion": (str, False)}, True)
VOLUMES = [{"name": NAME, "emptyDir": (dict, False), "projected": (
    {"defaultMode": (int, False), "sources": ([{"secret": (
        {"name": NAME, "items": (list, True)}, True)}], True)}, False)}]
CONTAINERS = [{"name": NAME, "image": NAME, "args": (list, False), "resources": (dict, False),
               "securityContext": (dict, False), "volumeMounts": (list, False)}]
POD = {"metadata": ({"labels": (dict, False), "annotations": (dict, False)}, False), "spec": (
    {"automountServiceAccountToken": (bool, False), "enableServiceLinks": (bool, False),
     "restartPolicy": (str, False), "securityContext": (dict, False),
     "containers": (CONTAINERS, True), "volumes": (VOLUMES, False)}, True)}
# The members that the CRDs have (and of a pod those used here), with their types: (type, required).
SCHEMAS = {
    "secrets": {"apiVersion": NAME, "kind": NAME, "metadata": META, "type": (str, False),
                "stringData": (dict, True)},
    "sandboxtemplates": {"apiVersion": NAME, "kind": NAME, "metadata": META,
                         "spec": ({"podTemplate": (POD, True)}, True)},
    "sandboxclaims": {"apiVersion": NAME, "kind": NAME, "metadata": META, "spec": (
        {"sandboxTemplateRef": ({"name": NAME}, True), "lifecycle": (
            {"shutdownPolicy": (("Delete", "DeleteForeground", "Retain"), False),
             "shutdownTime": (str, False)}, False)}, True)},
}


def fits(value, schema, at):
    if isinstance(schema, dict):
        ats.check(isinstance(value, dict), "%s: not an object" % at)
        for k, v in value.items():
            ats.check(k in schema, "%s.%s: not in the schema" % (at, k))
            fits(v, schema[k][0], at + "." + k)
        for k, (_, required) in schema.items():
            ats.check(k in value or not required, "%s.%s: missing" % (at, k))
    elif isinstance(schema, list):
        ats.check(isinstance(value, list), "%s: not an array" % at)
        for x in value:
            fits(x, schema[0], at + "[]")
    elif isinstance(schema, tuple):
        ats.check(value in schema, "%s: %r" % (at, value))
    else:
        ats.check(type(value) is schema, "%s: %r is no %s" % (at, value, schema.__name__))


class Cluster(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, home):
        super().__init__(("127.0.0.1", 0), Handler)
        self.home, self.kept, self.pods, self.wrong = home, {}, {}, []
        self.log, self.refuse = [], None
        threading.Thread(target=self.serve_forever, daemon=True).start()
        home.open_things.append(self)

    def run_pod(self, claim):
        """As the controller and a kubelet would: the claim's template, with the secret as a file."""
        name = claim["metadata"]["name"]
        pod = self.kept["sandboxtemplates", claim["spec"]["sandboxTemplateRef"]["name"]]["spec"][
            "podTemplate"]["spec"]
        secret = pod["volumes"][0]["projected"]["sources"][0]["secret"]["name"]
        top = os.path.join(self.home.dir, "pod-" + name)
        os.makedirs(top + "/key", 0o700, exist_ok=True)
        os.makedirs(top + "/state", 0o700, exist_ok=True)
        path = top + "/key/key"
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(self.kept["secrets", secret]["stringData"]["key"])
        args = [path if a == "/run/ats-key/key" else a for a in pod["containers"][0]["args"]]
        with open(top + "/log", "ab") as log:
            self.pods[name] = self.home.popen(ats.program("ats-hands"), *args, "--state-dir",
                                              top + "/state", stdin=log, stdout=log, stderr=log)
        claim["status"] = {"conditions": [{"type": "Ready", "status": "True"}],
                           "sandbox": {"name": name}}

    def end_pod(self, name):
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
    def log_message(self, *_):
        pass

    def answer(self, code, obj):
        body = json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        c = self.server
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        if self.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(401, {})
        parts = self.path.strip("/").split("/")
        at = parts.index("namespaces")
        ats.equal("/".join(parts[:at]), "api/v1" if parts[at + 2] == "secrets" else
                  "apis/extensions.agents.x-k8s.io/v1alpha1")
        ats.equal(parts[at + 1], "ats")
        plural, name = parts[at + 2], (parts[at + 3:] or [None])[0]
        c.log.append((self.command, plural))
        if c.refuse:
            return self.answer(c.refuse, {"message": json.dumps(body)})
        if body is not None:
            fits(body, SCHEMAS[plural], plural)
            name = name or body["metadata"]["name"]
        if self.command == "POST":
            if (plural, name) in c.kept:
                return self.answer(409, {})
            body["metadata"]["resourceVersion"] = "1"
            c.kept[plural, name] = body
            if plural == "sandboxclaims":
                c.run_pod(body)
            return self.answer(201, body)
        if (plural, name) not in c.kept:
            return self.answer(404, {})
        if self.command == "PUT":
            if body["metadata"]["resourceVersion"] != c.kept[plural, name]["metadata"][
                    "resourceVersion"]:
                return self.answer(409, {})
            c.kept[plural, name] = body
        elif self.command == "DELETE":
            del c.kept[plural, name]
            if plural == "sandboxclaims":
                c.end_pod(name)
            return self.answer(200, {})
        return self.answer(200, c.kept[plural, name])

    def handle_checked(self):
        try:
            self.handle_one()
        except (ats.Failure, KeyError, ValueError) as e:
            self.server.wrong.append(repr(e))
            self.answer(422, {})

    do_GET = do_POST = do_PUT = do_DELETE = handle_checked


def rig(home):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    home.configure({"sandbox": {"url": "listen:wss://127.0.0.1:%d/ats" % port}})
    with open(os.path.join(HERE, "template.json"), encoding="utf-8") as f:
        t = json.load(f)
    args = t["spec"]["podTemplate"]["spec"]["containers"][0]["args"]
    args[args.index("--connect") + 1] = "wss://127.0.0.1:%d/ats" % port
    with open(home.dir + "/template.json", "w", encoding="utf-8") as f:
        json.dump(t, f)
    with open(home.dir + "/token", "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    return Cluster(home)


def tool(home, cluster, *args, code=0, **env):
    r = subprocess.run([os.path.join(HERE, "ats-kubernetes"), *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                       env=dict(home.env, ATS_KUBE_API="http://127.0.0.1:%d" %
                                cluster.server_address[1], ATS_KUBE_NAMESPACE="ats",
                                ATS_KUBE_TOKEN_FILE=home.dir + "/token",
                                ATS_KUBE_TEMPLATE=home.dir + "/template.json",
                                ATS_CTL=ats.program("atsctl"), ATS_KUBE_READY_S="20", **env))
    ats.equal(cluster.wrong, [])
    ats.equal(r.returncode, code, r.stderr)
    for secret in (b"ats1:", TOKEN.encode()):
        ats.missing(r.stdout + r.stderr, secret)
    return r.stdout.decode(), r.stderr.decode()


@ats.test("up makes secret, template and claim; hands comes in and serves; down takes all away")
def _(home):
    c = rig(home)
    home.write("a.txt", "in the pod\n")
    out, _ = tool(home, c, "up", home.ws)
    name = out.strip()
    ats.matches(name, "^ats-b-[0-9a-f]{12}$")
    ats.equal(sorted(c.kept), sorted((p, name) for p in SCHEMAS))
    ats.equal(tool(home, c, "status", home.ws)[0], name + " ready\n")
    r = home.ctl("exec", "--workspace", home.ws, "--", "cat", "a.txt", code=0)
    ats.equal(r.stdout, b"in the pod\n")
    # Asked again nothing is made twice; a pod that died is the controller's to start again.
    before = c.pods[name].pid
    tool(home, c, "up", home.ws)
    ats.equal(c.pods[name].pid, before)
    below = ats.descendants(before)
    os.kill(before, signal.SIGKILL)
    c.pods[name].wait()
    ats.wait_gone(below, 10)
    c.run_pod(c.kept["sandboxclaims", name])
    r = home.ctl("exec", "--workspace", home.ws, "--", "cat", "a.txt", code=0)
    ats.equal(r.stdout, b"in the pod\n")
    pid = c.pods[name].pid
    tool(home, c, "down", home.ws)
    ats.equal(c.kept, {})
    ats.equal(ats.wait_gone({pid}, 10), [])
    home.ctl("shutdown", code=0)


@ats.test("a cluster that refuses, or a template that is none: one line, and no key in it")
def _(home):
    c = rig(home)
    c.refuse = 403
    _, err = tool(home, c, "up", home.ws, code=1)
    ats.matches(err, "^ats-kubernetes: GET secrets: the cluster answers 403\n$")
    c.refuse = None
    with open(home.dir + "/template.json", "w", encoding="ascii") as f:
        f.write('{"spec": {"podTemplate": {"spec": {"containers": []}}}}')
    _, err = tool(home, c, "up", home.ws, code=1)
    ats.contains(err, "wants a container hands")
    ats.equal(c.kept, {})
    _, err = tool(home, c, "status", home.ws, code=1)
    ats.matches(err, "is not there|brain has no sandbox")
    _, err = tool(home, c, "up", "relative", code=1)
    ats.contains(err, "usage:")
    with contextlib.suppress(ats.Failure):
        home.ctl("shutdown")


@ats.test("the manifests are JSON of the kinds that they say", home=False)
def _():
    for name, kind in (("template", "SandboxTemplate"), ("network-policy", "NetworkPolicy"),
                       ("role", "Role")):
        with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as f:
            obj = json.load(f)
        ats.equal(obj["kind"], kind)
        if kind == "SandboxTemplate":
            fits(obj, SCHEMAS["sandboxtemplates"], "template")


ats.main()
