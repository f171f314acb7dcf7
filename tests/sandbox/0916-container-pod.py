#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container of packaging/kubernetes' templates, run by podman as a kubelet would: its command and
arguments in an image whose own entry point listens, with its security context, and the volume of its
key read-only or empty at first. It has this machine's network, to come in to brain on loopback."""
import json
import os
import socket
import subprocess

from pod import engine, ats

HERE = os.path.join(ats.TOP, "packaging", "kubernetes")


def container(template, url):
    """(options of run, the arguments), of what the template says."""
    with open(os.path.join(HERE, template + ".json"), encoding="utf-8") as f:
        spec = json.load(f)["spec"]["podTemplate"]["spec"]
    (one,) = spec["containers"]
    ats.equal(one["securityContext"],
              {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": False})
    ats.equal({m["mountPath"] for m in one["volumeMounts"]}, {"/run/ats-key", "/workspace"})
    args = list(one["args"])
    args[args.index("--connect") + 1] = url
    return ["--entrypoint", json.dumps(one["command"]), "--security-opt", "no-new-privileges",
            "--network", "host"], args


def pod(home, template, key_mount):
    """Starts it. Returns its name; close removes it."""
    e = engine()
    image = e.image("debian")
    with socket.create_server(("127.0.0.1", 0)) as s:
        url = "wss://127.0.0.1:%d/ats" % s.getsockname()[1]
    home.configure({"sandbox": {"url": "listen:" + url}, "limits": {"queue_ms": 60000}})
    os.chmod(home.dir, 0o711)
    key = home.ctl("sandbox", "enroll", "--workspace", "/workspace", code=0).stdout
    at = home.dir + "/key"
    os.mkdir(at, 0o755)
    if key_mount == "ro":
        with open(os.open(at + "/key", os.O_WRONLY | os.O_CREAT, 0o400), "wb") as f:
            f.write(key)
    os.mkdir(home.dir + "/empty", 0o777)
    run, args = container(template, url)
    name = "pod-" + template
    e.podman("run", "-d", "--name", name, "--ulimit", "nofile=4096:4096", "--ulimit",
             "nproc=4096:4096", *run, "-v", "%s:/run/ats-key:%s" % (at, key_mount), "-v",
             home.dir + "/empty:/workspace", image, *args)
    return e, name, key


def serves(home, workspace="/workspace"):
    r = home.ctl("exec", "--workspace", workspace, "--", "sh", "-c", "pwd; id -u; echo x > f; cat f; "
                 "cat /run/ats-key/key && echo has the key", code=1, timeout=60)
    lines = r.stdout.decode().split("\n")
    ats.equal((lines[0], lines[2:]), (workspace, ["x", ""]), r.stderr)
    ats.check(lines[1] != "0", "a tool is root")
    (box,) = json.loads(home.ctl("--json", "status", code=0).stdout)["engine"]["sandboxes"]
    ats.equal((box["confinement"]["level"], box["confinement"]["verified"]), ("uid+landlock", True))


@ats.test("a pod of template.json comes in, confines, and comes in again when it is started again")
def _(home):
    e, name, _key = pod(home, "template", "ro")
    try:
        serves(home)
        e.podman("kill", name)
        e.podman("start", name)
        serves(home)
    finally:
        print("# " + e.podman("logs", name, check=False).replace("\n", "\n# "))
        e.podman("rm", "-f", "-t", "0", name)
    home.ctl("shutdown")


@ats.test("a pod of pool-template.json waits, takes its key and workspace, and has them from then on")
def _(home):
    e, name, key = pod(home, "pool-template", "rw")
    try:
        ats.until(lambda: "waits for its key" in subprocess.run(
            e.podman_argv("logs", name), env=e.env, capture_output=True, text=True,
            check=False).stderr, "it waits")
        # Of what ends without a look at its stdin podman 4.3 loses the output, half of the time.
        for said, opened in (("wants\ntook b-", ["-i"]), ("has b-", [])):
            r = subprocess.run(e.podman_argv("exec", *opened, name, "/ats-hands", "take-key",
                                             "/run/ats-key/key"), env=e.env, check=False, timeout=60,
                               input=key + b"workspace=/workspace\n\n", capture_output=True)
            ats.equal(r.returncode, 0, r.stderr)
            ats.check(r.stdout.decode().startswith(said), r.stdout)
        serves(home)
        e.podman("kill", name)
        e.podman("start", name)
        serves(home)
    finally:
        e.podman("rm", "-f", "-t", "0", name)
    home.ctl("shutdown")


ats.main()
