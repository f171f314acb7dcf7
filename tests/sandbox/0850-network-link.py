#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network link in each situation: hands listens, and hands connects; the box itself has no
network for it."""
import os
import socket

from box import OTHER_UID, ats
from bare import ROOT, USER
from net_hands import Brain, NetHands, sh, text

KINDS = (("namespaces, root", None, (), "namespaces"),
         ("namespaces, a user", OTHER_UID, (), "namespaces"),
         ("uid+landlock", None, ROOT, "uid+landlock"),
         ("landlock", OTHER_UID, USER, "landlock"))
# What tells of a network: an address that can be asked for.
NO_NETWORK = "exec 2>/dev/null; (echo > /dev/tcp/127.0.0.1/%d) && echo reached || echo none"


def works(b, h, level, port):
    ready = b.attach()
    ats.equal(ready.json["confinement"]["level"], level, ready.json)
    ats.check(ready.json["confinement"]["verified"] is True)
    sh(b, h.ws, NO_NETWORK % port)
    ats.equal(text(b), "none")


def start(how, address, uid, prefix, level):
    return NetHands("--option", "min_level=" + level, how=how, address=address, uid=uid,
                    prefix=prefix)


for name, uid, prefix, level in KINDS:
    def listens(uid=uid, prefix=prefix, level=level):
        if os.geteuid() != 0:
            ats.skip("needs root to set the stage")
        with start("--listen", "tcp://127.0.0.1:0", uid, prefix, level) as h:
            works(h.brain(), h, level, h.port)

    def connects(uid=uid, prefix=prefix, level=level):
        if os.geteuid() != 0:
            ats.skip("needs root to set the stage")
        with socket.create_server(("127.0.0.1", 0)) as at:
            port = at.getsockname()[1]
            at.settimeout(ats.TIMEOUT)
            with start("--connect", "tcp://127.0.0.1:%d" % port, uid, prefix, level) as h:
                works(Brain(at.accept()[0]), h, level, port)

    ats.test("hands listens (%s)" % name, home=False)(listens)
    ats.test("hands connects (%s)" % name, home=False)(connects)

ats.main()
