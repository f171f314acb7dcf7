# SPDX-License-Identifier: Apache-2.0
"""What a person has before them at a real brain: the calls that wait, what is decided about them, and
the audit log."""
import collections
import contextlib
import json
import os

import ats
from vault_rig import sha256

# args: as they are shown, which is what an approval is for.
Approval = collections.namedtuple("Approval", "id since until session gateway tool args workspace")


def waiting(home):
    v = ats.Vault(home.vault_path)
    with contextlib.closing(v):
        v.sock.send(v.pack("APPROVALS", 1, 0, "", "terminal"))
        out = []
        while (m := v.recv())[0] != "OK":
            out.append(Approval(*m[2]))
        return out


def the_one(home):
    """The first that waits, as soon as there is one."""
    return ats.until(lambda: waiting(home), "something waits")[0]


def approve(home, one=None):
    """One that waits (the first); returns it."""
    one = one or the_one(home)
    home.vault().ask("APPROVE", one.id, sha256(one.args), "terminal")
    return one


def deny(home, one, why="no"):
    home.vault().ask("DENY", one.id, why, "terminal")


def audit(home):
    """The lines of the log; none without it."""
    path = os.path.join(home.state, "ats", "vault", "audit.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return list(map(json.loads, f))
