#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One workspace inside another: what runs in the outer one may not move the inner one's
sandbox to another place of the host."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def nested(home):
    """(secret directory, inner workspace), both the user's."""
    secret, inner = os.path.join(home.dir, "secret"), os.path.join(home.ws, "inner")
    for d in (secret, inner):
        os.mkdir(d, 0o700)
        if home.uid is not None:
            os.chown(d, home.uid, home.uid)
    with open(os.path.join(secret, "key"), "w", encoding="ascii") as f:
        f.write("a secret of the host\n")
    os.chmod(f.name, 0o644)
    return secret, inner


def plant(home, mcp, secret):
    mcp.text("Bash", command="mv inner inner.old && ln -s %s inner" % secret)
    ats.equal(os.path.realpath(os.path.join(home.ws, "inner")), secret)


@ats.test("a link in the place of a registered workspace: its sandbox does not start there",
          users=True)
def _(home):
    secret, inner = nested(home)
    outer = home.mcp()
    outer.initialize()
    mcp = home.mcp(workspace=inner)
    mcp.initialize()
    mcp.text("Bash", command="echo mine > f")
    plant(home, outer, secret)
    boxes = json.loads(home.ctl("--json", "status", code=0).stdout)["engine"]["sandboxes"]
    box = [b["id"] for b in boxes if b["workspace"] == inner][0]
    home.ctl("sandbox", "restart", box, code=0)
    a = mcp.tool("Bash", {"command": "cat %s/key; ls %s" % (secret, inner)})
    ats.missing(str(a), "a secret of the host")
    ats.contains(str(a), "the sandbox cannot be started")
    with open(os.path.join(home.state, "ats", "sandbox", box, "hands.log"),
              encoding="utf-8") as f:
        ats.contains(f.read(), "symbolic link")
    outer.text("Bash", command="rm inner && mv inner.old inner")
    ats.equal(mcp.text("Bash", command="cat f"), "mine")


@ats.test("a workspace behind a link that another workspace holds is not registered",
          users=True)
def _(home):
    secret, inner = nested(home)
    outer = home.mcp()
    outer.initialize()
    home.ctl("exec", "--workspace", inner, "--", "true", code=0)
    plant(home, outer, secret)
    for path in (inner, inner + "/."):
        r = home.ctl("exec", "--workspace", path, "--", "cat", "key")
        ats.missing(r.stdout, b"a secret of the host")
        ats.check(r.returncode != 0, r)
        ats.contains(r.stderr.decode(), "symbolic link")
    # A link that stays within is fine, and so is one that the user made elsewhere.
    outer.text("Bash", command="rm inner && ln -s inner.old inner")
    home.ctl("exec", "--workspace", inner, "--", "true", code=0)
    link = os.path.join(home.dir, "link")
    os.symlink(home.ws, link)
    home.ctl("exec", "--workspace", link, "--", "true", code=0)


ats.main()
