#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of links: a name server of our own answers ats_dial (common/dial.c), in namespaces with
their own resolv.conf, hosts and loopback."""
import os
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

A, CNAME, AAAA = 1, 5, 28
ONE, NOBODY = bytes([127, 0, 0, 1]), bytes([127, 0, 0, 9])
SIX = bytes(15) + b"\1"
RECORDS = {     # name: [(type, data)]; what is not here does not exist
    "four.test": [(A, ONE)],
    "six.test": [(AAAA, SIX)],
    "both.test": [(AAAA, SIX), (A, ONE)],
    "second.test": [(A, NOBODY), (A, ONE)],
    "alias.test": [(CNAME, "four.test"), (A, ONE)],
    "nobody.test": [(A, NOBODY)],
    "empty.test": [],
    "many.test": [(A, bytes([127, 0, 1, i])) for i in range(1, 25)] + [(A, ONE)],
}


def encoded(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def answer(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    name, asked = ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0]
    if name == "garbage.test":
        return query[:2] + b"\x81\x80" + b"\xff" * 40
    found = [r for r in RECORDS.get(name, []) if r[0] in (asked, CNAME)]
    out = query[:2] + struct.pack(">HHHHH", 0x8180 | (0 if name in RECORDS else 3), 1,
                                  len(found), 0, 0) + query[12:at + 5]
    for kind, data in found:
        data = encoded(data) if kind == CNAME else data
        out += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
    return out


def serve(sock):
    while True:
        query, peer = sock.recvfrom(2000)
        sock.sendto(answer(query), peer)


def inner(wirepeer):
    """In the namespaces: dials each name of stdin's lines, and prints what came of it."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))
    threading.Thread(target=serve, args=(sock,), daemon=True).start()
    ends = []
    for family, at in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        s = socket.socket(family, socket.SOCK_STREAM)
        s.bind((at, 7000))
        s.listen(20)
        ends.append(s)
    for name in sys.stdin.read().split():
        # Whoever connects is heard of by a frame that nobody answers: only the dial counts.
        p = subprocess.run([wirepeer, "connect", "tcp://%s:7000" % name, "-"],
                           stdout=subprocess.PIPE, check=False, timeout=60)
        print(name, p.stdout.decode().replace("\n", " "))


def outer(home, names):
    path = os.path.join(ats.BUILD, "bench", "wirepeer")
    if not os.path.exists(path):
        ats.skip("no bench/wirepeer: make check builds it")
    if os.geteuid() != 0:
        ats.skip("only root can have another resolv.conf")
    resolv, hosts = os.path.join(home.dir, "resolv"), os.path.join(home.dir, "hosts")
    with open(resolv, "w", encoding="ascii") as f:
        f.write("nameserver 127.0.0.1\n")
    with open(hosts, "w", encoding="ascii") as f:
        f.write("127.0.0.1 listed.test\n")
    set_up = ("ip link set lo up && mount --bind %s /etc/resolv.conf && "
              "mount --bind %s /etc/hosts && exec python3 %s inner %s" % (
                  resolv, hosts, os.path.abspath(__file__), path))
    r = subprocess.run(["unshare", "-mn", "sh", "-c", set_up], input="\n".join(names).encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120)
    if not r.stdout:
        ats.skip("no namespaces: %s" % r.stderr.decode()[-200:])
    return dict(x.split(" ", 1) for x in r.stdout.decode().splitlines())


@ats.test("names: either family, aliases, the next address, hosts; and what is told of others")
def _(home):
    good = ("four.test", "six.test", "both.test", "second.test", "alias.test", "listed.test",
            "FOUR.test", "127.0.0.1", "localhost")
    bad = {"none.test": "no such name", "empty.test": "could not be looked up",
           "nobody.test": "Connection refused", "many.test": "Connection refused",
           "garbage.test": "could not be looked up"}
    got = outer(home, [*good, *bad])
    for name in good:
        ats.contains(got[name], "echoed 0 frames", name)
    for name, why in bad.items():
        ats.contains(got[name], why, name)


if len(sys.argv) > 1 and sys.argv[1] == "inner":
    inner(sys.argv[2])
else:
    ats.main()
