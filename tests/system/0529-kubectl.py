#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of the documents for kubectl, by a real kubectl against the cluster of
tests/lib/kube_api.py: what it sends fits the schemas, and the roles and bindings that it makes are all
that ats-kubernetes needs then."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kube
import kube_api
from kube import tool
from kube_api import rig

with open(os.path.join(ats.TOP, "docs", "OPERATING.md"), encoding="utf-8") as f:
    OPERATING = f.read()
with open(os.path.join(ats.TOP, "README.md"), encoding="utf-8") as f:
    README = f.read()


def kubectl(home, cluster):
    program = os.environ.get("ATS_KUBECTL") or shutil.which("kubectl")
    if not program:
        ats.skip("no kubectl (packaging/packages.kubernetes)")
    return kube_api.Kubectl(home, cluster, program)


def lines(after):
    """Those for kubectl of the first block of commands below a heading of OPERATING.md, whole."""
    block = re.search(r"(?ms)^#+ %s\n.*?^```sh\n(.*?)^```" % re.escape(after), OPERATING)[1]
    found = re.findall("(?m)^kubectl .*$", block)
    ats.check(len(found) >= 3, found)
    return found


def prepare(home, k, cluster, headings):
    """As the documents say it. The files have what a person changes in them."""
    at = home.dir + "/manifests"
    shutil.copytree(kube.HERE, at)
    for name in ("template", "pool-template"):
        shutil.copy(home.dir + "/%s.json" % name, at) if os.path.exists(
            home.dir + "/%s.json" % name) else None
    said = ""
    for heading in headings:
        for line in lines(heading):
            said += k.shell(line, cwd=at)
    ats.equal(cluster.wrong, [])
    return said


@ats.test("a namespace, role and account by kubectl, and a claim by what these allow")
def _(home):
    c = rig(home)
    k = kubectl(home, c)
    # Before, the account may do nothing.
    _, err = tool(home, c, "up", home.ws, code=1)
    ats.contains(err, "the cluster answers 403")
    said = prepare(home, k, c, ["Kubernetes"])
    for line in ("namespace/ats created", "ats-kubernetes created", "ats-hands created",
                 "service/ats-brain created", "serviceaccount/ats-brain created",
                 "rolebinding.rbac.authorization.k8s.io/ats created"):
        ats.contains(said, line)
    for name, plural in (("role", "roles"), ("network-policy", "networkpolicies"),
                         ("service", "services")):
        want = kube.manifest(name)
        got = c.get(plural, want["metadata"]["name"])
        ats.equal({m: got.get(m) for m in want if m != "metadata"},
                  {m: v for m, v in want.items() if m != "metadata"})
    home.write("a.txt", "in the pod\n")
    name = tool(home, c, "up", home.ws)[0].strip()
    r = home.ctl("exec", "--workspace", home.ws, "--", "cat", "a.txt", code=0)
    ats.equal(r.stdout, b"in the pod\n")
    # What an error of up says to look at.
    ats.matches(k.shell("kubectl describe sandboxclaim " + name),
                r"(?s)Name: +%s\n.*Kind: +SandboxClaim\n" % name)
    tool(home, c, "down", home.ws)
    ats.equal(sorted({p for p, _ in c.kept}), ["namespaces", "networkpolicies", "rolebindings", "roles",
                                               "serviceaccounts", "services"])
    home.ctl("shutdown", code=0)


@ats.test("the pool by kubectl beside it, applied twice; a claim has one of its pods")
def _(home):
    c = rig(home, role="role-pool", template="pool-template")
    k = kubectl(home, c)
    os.rename(home.dir + "/template.json", home.dir + "/pool-template.json")
    ways = ["Kubernetes", "Pods that are there before they are needed"]
    said = prepare(home, k, c, ways)
    ats.contains(said, "networkpolicy.networking.k8s.io/ats-hands unchanged")
    ats.contains(said, "sandboxwarmpool.extensions.agents.x-k8s.io/ats-pool created")
    ats.equal(len(c.pods), 2)
    ws = home.dir + "/pool/one"
    tool(home, c, "up", ws, ATS_KUBE_POOL="ats-pool")
    home.ctl("exec", "--workspace", ws, "--", "true", code=0)
    # A person changes what lies there, and nothing else is.
    at, before = home.dir + "/manifests", c.get("sandboxwarmpools", "ats-pool")["metadata"]["uid"]
    with open(at + "/pool.json", encoding="utf-8") as f:
        text = f.read()
    with open(at + "/pool.json", "w", encoding="utf-8") as f:
        f.write(text.replace('"replicas": 2', '"replicas": 3'))
    ats.contains(k.shell(lines(ways[1])[-1], cwd=at), "ats-pool configured")
    got = c.get("sandboxwarmpools", "ats-pool")
    ats.equal((got["spec"]["replicas"], got["metadata"]["uid"]), (3, before))
    ats.equal(len(c.pods), 4)
    # What a CRD does not have is refused by its name.
    with open(at + "/pool.json", "w", encoding="utf-8") as f:
        f.write(text.replace('"replicas"', '"replica"'))
    k.shell("kubectl -n ats apply -f pool.json", code=1, cwd=at)
    ats.equal(len(c.wrong), 1)
    ats.contains(c.wrong.pop(), "unknown member replica")
    tool(home, c, "down", ws, ATS_KUBE_POOL="ats-pool")
    home.ctl("shutdown", code=0)


@ats.test("brain reaches hands of a pod by kubectl exec, as README.md says; a pod that is gone is told")
def _(home):
    c = rig(home)
    k = kubectl(home, c)
    if k.minor() < 31:
        ats.skip("kubectl 1.%d does exec by SPDY, which this cluster does not speak" % k.minor())
    sock = home.dir + "/hands.sock"
    log = open(home.dir + "/hands.log", "wb")
    hands = home.popen(ats.program("ats-hands"), "--workspace", home.ws, "--listen", "unix:" + sock,
                       stdin=log, stdout=log, stderr=log)
    log.close()
    ats.until(lambda: os.path.exists(sock), "hands listens")
    c.attach = sock
    with c.lock:
        c.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "ats"},
                       "spec": {"containers": [{"name": "hands", "image": "x"}]},
                       "status": {"phase": "Running"}})
    (text,) = re.findall(r'(?ms)^```json\n(\{ "sandbox": \{ "url": "exec:pod" \}.*?)^```', README)
    text = text.replace("exec:pod", "exec:kube").replace('"POD"', '"pod"').replace(
        "/usr/bin/kubectl", k.program)
    home.configure(text)
    home.ctl("config", "check", code=0)
    home.write("a.txt", "in the pod\n")

    def call(*argv, **kw):
        return home.ctl("exec", "--workspace", home.ws, "--", *argv, timeout=60, **kw)
    ats.equal(call("cat", "a.txt", code=0).stdout, b"in the pod\n")
    ats.equal(call("wc", "-c", input=b"x" * 2000000, code=0).stdout.strip(), b"2000000")
    ats.equal(len(call("head", "-c", "2000000", "/dev/zero", code=0).stdout), 2000000)
    ats.equal(c.wrong, [])
    home.ctl("shutdown", code=0)
    with c.lock:
        del c.kept["pods", "pod"]
    ats.matches(call("true", code=125).stderr.decode(), "last words: .*(not ?found|NotFound)")
    home.ctl("shutdown", code=0)
    hands.terminate()


ats.main()
