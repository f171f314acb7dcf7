#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command gateway that pushes for a sandbox: what the workspace's repository names is never run
by the host's git, only branches of the pattern leave, and the token stays where it is."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import upstream

TOKEN = "push-token-5d1e77c0a4"
SCRIPT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                                      "packaging", "gateway", "ats-git-push"))
# What a hostile repository has its reader run.
HOSTILE = """
set -e
git init -q . && git config user.name t && git config user.email t@t
git checkout -q -b agent/work && echo one > f && git add f && git commit -q -m one
for hook in pre-push post-checkout reference-transaction post-update pre-receive update; do
    printf '#!/bin/sh\\ntouch %(mark)s\\n' > hook && chmod +x hook && cp hook h-$hook
done
git config core.fsmonitor 'touch %(mark)s'
git config core.sshCommand 'touch %(mark)s'
git config core.hooksPath .
git config uploadpack.packObjectsHook 'touch %(mark)s'
git config credential.helper '!touch %(mark)s'
git config url.ext::touch.insteadOf ssh://
"""


def git(where, *args):
    return subprocess.run(["git", "-C", where, *args], stdout=subprocess.PIPE, check=True,
                          env={"PATH": os.environ["PATH"], "HOME": where}).stdout.decode()


def prepare(home, server):
    remote = os.path.join(server.root, "p.git")
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    git(remote, "config", "http.receivepack", "true")
    secret = os.path.join(home.dir, "token")
    with open(secret, "w", encoding="ascii") as f:
        f.write(TOKEN)
    os.chmod(secret, 0o600)
    home.configure({
        "sandbox": {"git_config": True},
        "credentials": {"forge": {"file": secret}},
        "gateways": {"push": {
            "kind": "command", "credential": "forge", "credential_env": "GIT_TOKEN",
            "env": {"ATS_PUSH_WORKSPACE": home.ws, "ATS_PUSH_REMOTE": server.url + "/git/p.git",
                    "ATS_PUSH_MIRROR": os.path.join(home.dir, "mirror"), "ATS_PUSH_USER": "agent",
                    "XDG_RUNTIME_DIR": home.run, "XDG_STATE_HOME": home.state,
                    "PATH": os.path.dirname(ats.program("atsctl")) + ":" + os.environ["PATH"]},
            "tools": {"branch": {
                "description": "Pushes a branch.", "argv": [SCRIPT], "permission": "allow",
                "input": {"type": "object", "required": ["branch"],
                          "properties": {"branch": {"type": "string"}}}}}}}})
    return remote


def push(home, branch, code=0):
    r = home.ctl("gateway", "call", "push__branch", '{"branch": "%s"}' % branch, code=code)
    return r.stdout.decode() + r.stderr.decode()


@ats.test("a branch is pushed; nothing of the workspace runs on the host; the token is nowhere")
def _(home):
    if ats.SANITIZED:
        ats.skip("a sanitized atsctl has no room in what the program of a gateway may have")
    repos = os.path.join(home.dir, "repos")
    os.mkdir(repos)
    server = upstream.Upstream(TOKEN, root=repos)
    try:
        remote = prepare(home, server)
        mark = os.path.join(home.dir, "owned")
        home.ctl("exec", "--", "sh", "-c", HOSTILE % {"mark": mark}, code=0)
        said = push(home, "agent/work")
        ats.check("refs/heads/agent/work" in said, said)
        here = home.ctl("exec", "--", "git", "-c", "core.fsmonitor=false", "rev-parse", "HEAD",
                        code=0).stdout.decode().strip()
        ats.equal(git(remote, "rev-parse", "refs/heads/agent/work").strip(), here)
        home.ctl("exec", "--", "sh", "-c", "git -c core.fsmonitor=false commit -q --allow-empty "
                 "-m two --no-verify || true; git -c core.fsmonitor=false branch -f main", code=0)
        for bad in ("main", "agent/../x", "agent/x y", "agent/none", "-agent/x", "agent/$(id)"):
            said += push(home, bad, code=1)
        ats.check(not os.path.exists(mark), "the host ran what the repository names")
        ats.equal(git(remote, "for-each-ref", "--format=%(refname)").split(),
                  ["refs/heads/agent/work"])
        with open(home.log_path, encoding="utf-8", errors="replace") as f:
            said += f.read()
        ats.check(TOKEN not in said, "the token was told")
        seen = home.ctl("exec", "--", "sh", "-c", "cat /proc/*/environ .git/config; env",
                        ).stdout.decode("utf-8", "replace")
        ats.check(TOKEN not in seen, "the token is in the sandbox")
    finally:
        server.close()


if __name__ == "__main__":
    ats.main()
