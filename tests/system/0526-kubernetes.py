#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/kubernetes against the cluster of tests/lib/kube.py: what it makes fits the schemas of the
CRDs, its Role is enough, and a claim's pod comes in to a real brain."""
import contextlib
import copy
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kube
import kube_schema
import npm
from kube import manifest, rig, tool

MADE = ("sandboxclaims", "sandboxtemplates", "sandboxwarmpools", "secrets")


@ats.test("up makes secret, template, pool and claim; hands comes in and serves; down takes all away")
def _(home):
    c = rig(home)
    home.write("a.txt", "in the pod\n")
    out, _ = tool(home, c, "up", home.ws)
    name = out.strip()
    ats.matches(name, "^ats-b-[0-9a-f]{12}$")
    ats.equal(sorted(c.kept), sorted((p, name) for p in (*MADE, "sandboxes", "pods")))
    ats.equal(tool(home, c, "status", home.ws)[0], name + " ready\n")
    r = home.ctl("exec", "--workspace", home.ws, "--", "cat", "a.txt", code=0)
    ats.equal(r.stdout, b"in the pod\n")
    # Asked again nothing is made twice; a container that died is the kubelet's to start again.
    before = c.pods[name].pid
    tool(home, c, "up", home.ws)
    ats.equal(c.pods[name].pid, before)
    c.kill_container(name)
    c.start_container(name)
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
    ats.matches(err, "^ats-kubernetes: GET secrets: the cluster answers 403; .* role.json")
    c.refuse = 302
    before = len(c.log)
    _, err = tool(home, c, "up", home.ws, code=1)
    ats.contains(err, "the cluster answers 302")
    ats.equal(len(c.log), before + 1, "no token to another place")
    c.refuse = 404                      # of every kind: no such namespace, or no such CRDs
    _, err = tool(home, c, "up", home.ws, code=1)
    ats.contains(err, "POST secrets: the cluster answers 404; is the namespace there, and agent-sandbox")
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


@ats.test("a member that the CRDs do not have is refused by the cluster, not dropped")
def _(home):
    c = rig(home)
    with open(home.dir + "/template.json", encoding="utf-8") as f:
        t = json.load(f)
    t["spec"]["networkPolicies"] = t["spec"].pop("networkPolicy")
    with open(home.dir + "/template.json", "w", encoding="utf-8") as f:
        json.dump(t, f)
    p = kube.start(home, c, "up", home.ws)
    out, err = p.communicate(timeout=60)
    ats.equal((out, p.returncode), (b"", 1))
    ats.matches(err.decode(), "^ats-kubernetes: POST sandboxtemplates: the cluster answers 422; .*CRDs")
    ats.equal(len(c.wrong), 1)
    ats.contains(c.wrong[0], "unknown member networkPolicies")
    home.ctl("shutdown")


@ats.test("the manifests fit the schemas of their kinds, and say the same where they repeat it",
          home=False)
def _():
    kinds = {"template": "SandboxTemplate", "pool-template": "SandboxTemplate",
             "pool": "SandboxWarmPool", "network-policy": "NetworkPolicy", "role": "Role",
             "role-pool": "Role", "service": "Service"}
    there = {n[:-5] for n in os.listdir(kube.HERE) if n.endswith(".json")}
    ats.equal(there, set(kinds))
    for name, kind in kinds.items():
        obj = manifest(name)
        ats.equal(obj["kind"], kind)
        kube_schema.validate(kube_schema.plural_of(obj), obj)
    # What hands is told of brain, what the Service is, and what may be reached are one.
    service = manifest("service")
    peer = manifest("network-policy")["spec"]["egress"][0]
    ats.equal(service["spec"]["selector"], peer["to"][0]["podSelector"]["matchLabels"])
    ats.equal([p["port"] for p in service["spec"]["ports"]], [p["port"] for p in peer["ports"]])
    for name in ("template", "pool-template"):
        args = manifest(name)["spec"]["podTemplate"]["spec"]["containers"][0]["args"]
        ats.matches(args[args.index("--connect") + 1], "^wss://%s.ats.svc:%d/ats$" % (
            service["metadata"]["name"], service["spec"]["ports"][0]["port"]))
    # An image's own entry point may listen, and says what of confinement a container can have.
    with open(os.path.join(kube.HERE, "..", "container", "Containerfile"), encoding="utf-8") as f:
        entry = json.loads(re.search(r"(?m)^ENTRYPOINT (.*)$", f.read())[1])
    for name in ("template", "pool-template"):
        (hands,) = manifest(name)["spec"]["podTemplate"]["spec"]["containers"]
        ats.equal(hands["command"], entry)
    # Policies add up: one that allows more than the other would be the one that counts.
    egress = manifest("network-policy")["spec"]["egress"]
    for name in ("template", "pool-template"):
        spec = manifest(name)["spec"]
        ats.equal(spec["networkPolicy"], {"egress": egress})
        ats.equal(spec["networkPolicyManagement"], "Managed")
        ats.equal(spec["podTemplate"]["spec"]["automountServiceAccountToken"], False)
    ats.equal(manifest("pool")["spec"]["sandboxTemplateRef"]["name"],
              manifest("pool-template")["metadata"]["name"])


CLAIM = {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
         "metadata": {"name": "c"}, "spec": {"warmPoolRef": {"name": "p"}, "lifecycle": {
             "shutdownPolicy": "Delete", "shutdownTime": "2026-12-31T23:59:59Z"}}}
SANDBOX = {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "s"},
           "spec": {"podTemplate": {"spec": {"containers": [{"name": "hands", "image": "x"}]}},
                    "operatingMode": "Running", "shutdownPolicy": "Retain"}}


def wrong():
    """(what is wrong, the object)"""
    pool, template = manifest("pool"), manifest("pool-template")
    for base, path, value in (
            (CLAIM, "apiVersion", "extensions.agents.x-k8s.io/v1alpha1"),
            (CLAIM, "kind", "Sandbox"),
            (CLAIM, "spec.warmPoolRef", None),
            (CLAIM, "spec.warmPoolRef.name", None),
            (CLAIM, "spec.warmPoolRef.namespace", "other"),
            (CLAIM, "spec.sandboxTemplateRef", {"name": "t"}),
            (CLAIM, "spec.warmpool", "none"),
            (CLAIM, "spec.lifecycle.shutdownPolicy", "Keep"),
            (CLAIM, "spec.lifecycle.shutdownTime", "tomorrow"),
            (CLAIM, "spec.lifecycle.ttlSecondsAfterFinished", -1),
            (CLAIM, "spec.env", [{"name": "A"}]),
            (CLAIM, "metadata.name", "Not_A_Name"),
            (CLAIM, "spec", None),
            (SANDBOX, "spec.replicas", 1),
            (SANDBOX, "spec.operatingMode", "Paused"),
            (SANDBOX, "spec.shutdownPolicy", "DeleteForeground"),
            (SANDBOX, "spec.podTemplate.spec.containers", None),
            (pool, "spec.replicas", -1),
            (pool, "spec.replicas", "2"),
            (pool, "spec.replicas", True),
            (pool, "spec.replicas", None),
            (pool, "spec.sandboxTemplateRef", None),
            (pool, "spec.updateStrategy.type", "RollingUpdate"),
            (pool, "spec.podTemplate", {}),
            (template, "spec.networkPolicyManagement", "Off"),
            (template, "spec.networkPolicy.policyTypes", ["Egress"]),
            (template, "spec.podTemplate", None),
            (template, "spec.podTemplate.spec.volumes", {}),
            (template, "spec.podTemplate.metadata.name", "x"),
            (template, "metadata.ownerReferences", [{"kind": "Pod"}])):
        obj = copy.deepcopy(base)
        *way, last = path.split(".")
        at = obj
        for k in way:
            at = at.setdefault(k, {})
        if value is None:
            del at[last]
        else:
            at[last] = value
        yield "%s %s=%r" % (base["kind"], path, value), obj


@ats.test("each object with one thing wrong fails, and names where", home=False)
def _():
    for good in (CLAIM, SANDBOX, manifest("pool"), manifest("pool-template")):
        kube_schema.validate(kube_schema.plural_of(good), good)
    seen = 0
    for what, obj in wrong():
        plural = {v[1]: k for k, v in kube_schema.KINDS.items()}[what.split()[0]]
        try:
            kube_schema.validate(plural, obj)
        except kube_schema.Invalid as e:
            ats.contains(str(e), plural)
            seen += 1
        else:
            raise ats.Failure("passes: " + what)
    ats.equal(seen, 30)


# ---- by the schemas of Kubernetes itself -----------------------------------------------------
MODELS = ("kubernetes-models@4.5.1", "typescript@5.6.3")


def core_objects():
    """(module of kubernetes-models, name, object), of all that is no kind of agent-sandbox."""
    modules = {"Role": "rbac.authorization.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
               "Service": "v1"}
    for name in sorted(os.listdir(kube.HERE)):
        obj = manifest(name[:-5]) if name.endswith(".json") else {"kind": ""}
        if obj["kind"] in modules:
            yield modules[obj["kind"]], obj["kind"], obj
        if obj["kind"] == "SandboxTemplate":
            yield "v1", "PodTemplateSpec", obj["spec"]["podTemplate"]
            for rule in obj["spec"]["networkPolicy"]["egress"]:
                yield "networking.k8s.io/v1", "NetworkPolicyEgressRule", rule
    yield "v1", "Secret", {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                           "stringData": {"key": "x"},
                           "metadata": {"name": "ats", "labels": {"ats/sandbox": "b"}}}


def judged(folder, objects):
    """What their schemas say of them (node), and of members that these do not have (tsc); "" for
    nothing. Both are made of the OpenAPI of Kubernetes."""
    at = os.path.join(folder, "ats-%d" % os.getpid())
    with open(at + ".ts", "w", encoding="utf-8") as ts, open(at + ".js", "w", encoding="utf-8") as js:
        for n, (module, name, obj) in enumerate(objects):
            ts.write('import type { I%s as I%d } from "kubernetes-models/%s";\n'
                     "export const object%d: I%d = %s;\n" % (name, n, module, n, n, json.dumps(obj)))
            js.write('try { new (require("kubernetes-models/%s").%s)(%s).validate(); }\n'
                     "catch (e) { console.log(String(e)); }\n" % (module, name, json.dumps(obj)))
    said = ""
    for argv in (["node", at + ".js"],
                 ["node", os.path.join(folder, "node_modules", "typescript", "bin", "tsc"), "--strict",
                  "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext",
                  "--moduleResolution", "nodenext", at + ".ts"]):
        r = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
        said += r.stdout + r.stderr
    os.unlink(at + ".ts")
    os.unlink(at + ".js")
    return said


@ats.test("what is Kubernetes' own in them fits its own schemas, which bite", home=False,
          long=ats.WHOLLY)
def _():
    try:
        folder = npm.install(*MODELS)
    except npm.Missing as e:
        ats.skip(str(e))
    objects = list(core_objects())
    ats.equal(len(objects), 11)
    ats.equal(judged(folder, objects), "")
    template, wrong_ones = manifest("template")["spec"]["podTemplate"], []
    for path, value in (
            (("spec", "containers", 0, "securityContext", "allowPrivilege"), False),
            (("spec", "volumes", 1, "emptyDir", "sizeLimit"), "8Gib"),
            (("spec", "containers", 0, "workingDir"), 5),
            (("spec", "restartPolicies"), "Always")):
        at = obj = copy.deepcopy(template)
        for k in path[:-1]:
            at = at[k]
        at[path[-1]] = value
        wrong_ones.append((path[-1], ("v1", "PodTemplateSpec", obj)))
    said = judged(folder, [w for _, w in wrong_ones])
    for member, _ in wrong_ones:
        ats.contains(said, member)


ats.main()
