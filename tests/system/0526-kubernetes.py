#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/kubernetes against the cluster of tests/lib/kube.py: what it makes fits the schemas of the
CRDs, its Role is enough, and a claim's pod comes in to a real brain."""
import contextlib
import copy
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kube
import kube_schema
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
             "role-pool": "Role"}
    there = {n[:-5] for n in os.listdir(kube.HERE) if n.endswith(".json")}
    ats.equal(there, set(kinds))
    for name, kind in kinds.items():
        obj = manifest(name)
        ats.equal(obj["kind"], kind)
        kube_schema.validate(kube_schema.plural_of(obj), obj)
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


ats.main()
