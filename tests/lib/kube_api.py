# SPDX-License-Identifier: Apache-2.0
"""The cluster of kube.py for kubectl as well: discovery, enough of OpenAPI that it leaves strict
validation to the server, and a person who may do all. Rights are those of the Roles and RoleBindings
that lie in it, not of a file. Any kubectl since 1.20; those since 1.32 write some objects as
protobuf."""
import json
import os
import re
import ssl
import subprocess
import urllib.parse

import kube
import kube_schema

ADMIN = "the-person's-token"
ACCOUNT = {"kind": "ServiceAccount", "name": "ats-brain", "namespace": "ats"}
MAGIC = b"k8s\0"
# Message: {field number: (member, message of its own or None, repeated)}, of the generated.proto files.
META = {1: ("name", None, False), 3: ("namespace", None, False)}
SUBJECT = {1: ("kind", None, False), 2: ("apiGroup", None, False), 3: ("name", None, False),
           4: ("namespace", None, False)}
REF = {1: ("apiGroup", None, False), 2: ("kind", None, False), 3: ("name", None, False)}
PROTO = {"Namespace": {1: ("metadata", META, False)}, "ServiceAccount": {1: ("metadata", META, False)},
         "RoleBinding": {1: ("metadata", META, False), 2: ("subjects", SUBJECT, True),
                         3: ("roleRef", REF, False)}}


def fields(data):
    """(number, bytes) of each field of length; others are passed over."""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value
    at = 0
    while at < len(data):
        tag = varint()
        n = varint() if tag & 7 in (0, 2) else {1: 8, 5: 4}[tag & 7]
        if tag & 7 == 2:
            yield tag >> 3, data[at:at + n]
        if tag & 7:
            at += n


def message(data, rows):
    out = {}
    for number, value in fields(data):
        if number not in rows or not value:
            continue
        member, below, many = rows[number]
        value = message(value, below) if below else value.decode()
        if many:
            out.setdefault(member, []).append(value)
        else:
            out[member] = value
    return out


def from_protobuf(data):
    """runtime.Unknown: TypeMeta, and the object itself."""
    whole = dict(fields(data[len(MAGIC):]))
    kind = message(whole[1], {1: ("apiVersion", None, False), 2: ("kind", None, False)})
    return {**kind, **message(whole[2], PROTO[kind["kind"]])}


def merged(old, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    out = dict(old) if isinstance(old, dict) else {}
    for k, v in patch.items():
        out[k] = merged(out.get(k), v)
    return {k: v for k, v in out.items() if v is not None}


class Cluster(kube.Cluster):
    handler = None                      # below
    attach = None                       # socket of what "/ats-hands attach" reaches

    def rights(self):
        """Of the account, by what lies here."""
        bound = [b["roleRef"]["name"] for b in self.of("rolebindings") if ACCOUNT in b["subjects"]]
        return [rule for name in bound for rule in (self.get("roles", name) or {"rules": []})["rules"]]

    def may(self, verb, group, resource):
        self.rules = self.rights()
        return super().may(verb, group, resource)


def scope(plural):
    return plural != "namespaces"


def versions():
    """apiVersion -> the plurals that it has."""
    out = {}
    for plural, (version, *_) in kube_schema.KINDS.items():
        out.setdefault(version, []).append(plural)
    return out


def openapi(version):
    """What says that the server knows fieldValidation, for each kind."""
    group, _, v = version.rpartition("/")
    return {"openapi": "3.0.0", "info": {"title": "test", "version": "1"}, "paths": {
        "/%s/%s/{name}" % (version, plural): {"patch": {
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
            "responses": {"200": {"description": "OK"}}, "x-kubernetes-group-version-kind": {
                "group": group, "version": v, "kind": kube_schema.KINDS[plural][1]}}}
        for plural in versions()[version]}}


class Handler(kube.Handler):
    admin = False

    def discover(self, path):
        """The answer's object, or None."""
        all_ = versions()
        groups = [v for v in all_ if "/" in v]
        if path == "/version":
            return {"major": "1", "minor": "32", "gitVersion": "v1.32.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        if path == "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": v.split("/")[0], "versions": [
                    {"groupVersion": v, "version": v.split("/")[1]}],
                 "preferredVersion": {"groupVersion": v, "version": v.split("/")[1]}} for v in groups]}
        m = re.fullmatch(r"/(?:api/(v1)|apis/([^/]+/[^/]+))", path)
        if m and (m[1] or m[2]) in all_:
            return {"kind": "APIResourceList", "groupVersion": m[1] or m[2], "resources": [
                {"name": p, "singularName": kube_schema.KINDS[p][1].lower(), "namespaced": scope(p),
                 "kind": kube_schema.KINDS[p][1], "verbs": ["create", "delete", "get", "patch", "update"]}
                for p in all_[m[1] or m[2]]]}
        if path == "/openapi/v3":
            return {"paths": {("apis/" if "/" in v else "api/") + v: {
                "serverRelativeURL": "/openapi/v3/of/" + v} for v in all_}}
        if path.startswith("/openapi/v3/of/"):
            return openapi(path[len("/openapi/v3/of/"):])
        if re.fullmatch("/api/v1/namespaces/ats/events", path):
            return {"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": []}
        return None

    def answer(self, code, obj):
        if code >= 400 and not obj.get("kind"):
            obj = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                   "reason": {404: "NotFound", 409: "AlreadyExists"}.get(code, "Invalid"), **obj}
        body = json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        c, path = self.server, urllib.parse.urlsplit(self.path).path
        self.admin = self.headers.get("Authorization") == "Bearer " + ADMIN
        if not self.admin:
            super().handle_one()
            return
        if path == "/openapi/v2":       # kubectl before 1.27: a document of nothing, which has no rules
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = self.discover(path)
        if found is not None:
            self.answer(200, found)
            return
        m = re.fullmatch(r"/(?:api/(v1)|apis/([a-z0-9.-]+/v[a-z0-9]+))(?:/namespaces/ats)?/([a-z]+)"
                         r"(?:/([A-Za-z0-9.-]+))?(?:/(exec))?", path)
        if not m or m[3] not in kube_schema.KINDS:
            self.answer(404, {})
            return
        c.log.append((self.command, m[3], m[4]))
        if m[5]:
            self.exec(m[4], urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query))
            return
        self.person(c, m[1] or m[2], m[3], m[4])

    def person(self, c, version, plural, name):
        kube.ats.equal(version, kube_schema.KINDS[plural][0])
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = from_protobuf(raw) if raw.startswith(MAGIC) else json.loads(raw or b"null")
        old = c.get(plural, name) if name else None
        if self.command == "PATCH":
            kube.ats.check(old is not None)
            body = merged(old, body)
            self.command = "PUT"
        if body is not None:
            # What clients write of members that are not theirs to say.
            body["metadata"].pop("creationTimestamp", None)
            for k in ("spec", "status"):
                if body.get(k) == {}:
                    del body[k]
            kube_schema.validate(plural, body)
            name = name or body["metadata"]["name"]
        with c.lock:
            self.answer(*self.change(c, plural, name, body))

    def handle_all(self):
        self.handle_checked()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_all


Cluster.handler = Handler


def rig(home, **how):
    """kube.rig by TLS, without which kubectl sends no token; the certificate is home.dir/cert."""
    cert = home.dir + "/cert"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", cert + ".key", "-out", cert, "-days", "1", "-subj", "/CN=x",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, cert + ".key")
    home.env["ATS_KUBE_CA_FILE"] = cert
    return kube.rig(home, tls=tls, kind=Cluster, **how)


class Kubectl:
    """A kubectl whose configuration names that cluster, a person who may do all, and the namespace.
    It runs where the manifests are."""

    def __init__(self, home, cluster, program):
        self.program, self.home = program, home
        at = os.path.join(home.home, ".kube")
        os.makedirs(at, exist_ok=True)
        with open(at + "/config", "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "t",
                       "clusters": [{"name": "c", "cluster": {
                           "server": cluster.base, "certificate-authority": home.dir + "/cert"}}],
                       "users": [{"name": "u", "user": {"token": ADMIN}}],
                       "contexts": [{"name": "t", "context": {
                           "cluster": "c", "user": "u", "namespace": "ats"}}]}, f)

    def shell(self, line, code=0, cwd=kube.HERE):
        """A line of a document, as a person's shell reads it."""
        r = subprocess.run(["sh", "-c", line], cwd=cwd, stdin=subprocess.DEVNULL, timeout=60, env={
            **self.home.env, "PATH": os.path.dirname(self.program) + ":" + os.environ["PATH"]},
            capture_output=True, text=True, check=False)
        kube.ats.equal(r.returncode, code, (line, r.stdout, r.stderr))
        return r.stdout + r.stderr

    def minor(self):
        said = self.shell(self.program + " version --client -o json")
        return int(re.search(r'"minor": "(\d+)', said)[1])

