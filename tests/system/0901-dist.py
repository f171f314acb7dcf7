#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make dist: the same bytes of the same commit, whoever makes it, wherever and when. make sbom: what
each program is linked with."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def git(*args, **kw):
    return subprocess.run(["git", "-c", "safe.directory=*", *args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=True, **kw).stdout


def dist(tree, out, **env):
    r = subprocess.run([os.path.join(tree, "packaging/dist"), out, "ats-1"],
                       env=dict(os.environ, **env), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False, umask=int(env.pop("UMASK", "22"), 8))
    ats.equal(r.returncode, 0, r.stdout)
    with open(out, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


@ats.test("two tarballs of one commit are the same bytes, and hold what git knows", long=ats.WHOLLY)
def _(home):
    if not shutil.which("git") or not os.path.exists(os.path.join(ats.TOP, ".git")):
        ats.skip("no git checkout")
    trees = [os.path.join(home.dir, x) for x in ("one", "two")]
    for tree, mask in zip(trees, (0o22, 0o77)):
        git("clone", "-q", "--no-hardlinks", ats.TOP, tree, umask=mask)
    for root, _, files in os.walk(trees[1]):
        for f in files:
            os.utime(os.path.join(root, f), (1, 1), follow_symlinks=False)
    with open(os.path.join(trees[1], "not-known"), "w", encoding="ascii") as f:
        f.write("left out\n")
    tars = [os.path.join(home.dir, x + ".tar.gz") for x in ("one", "two")]
    ats.equal(dist(trees[0], tars[0], TZ="UTC"),
              dist(trees[1], tars[1], TZ="Asia/Tokyo", LC_ALL="C", UMASK="77"))
    with tarfile.open(tars[1]) as t:
        names = sorted(m.name for m in t)
        ats.equal({(m.uid, m.gid, m.mtime, m.mode & 0o22) for m in t},
                  {(0, 0, int(git("-C", trees[0], "log", "-1", "--format=%ct")), 0)})
    ats.equal(names, sorted("ats-1/" + x for x in
                            git("-C", trees[0], "ls-files").decode().splitlines()))


def sbom(**env):
    r = subprocess.run(["make", "-s", "-C", ats.TOP, "-o", "all", "sbom", "BUILD=" + ats.BUILD],
                       env=dict(os.environ, SOURCE_DATE_EPOCH="1796000000", **env),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    ats.equal(r.returncode, 0, r.stdout)
    with open(r.stdout.split()[-1], encoding="ascii") as f:
        return f.read()


@ats.test("the SBOM names each library that a program needs, and what the static ones hold", home=False,
          long=ats.WHOLLY)
def _():
    if not (shutil.which("dpkg-query") and shutil.which("readelf")):
        ats.skip("no dpkg-query or readelf")
    text = sbom()
    ats.equal(text, sbom(TZ="Asia/Tokyo"))
    d = json.loads(text)
    names = {p["SPDXID"]: p for p in d["packages"]}
    ats.equal((d["spdxVersion"], d["creationInfo"]["created"]), ("SPDX-2.3", "2026-11-30T00:53:20Z"))
    for name in ("ats-brain", "ats-engine", "ats-gateway", "ats-hands", "ats-http", "atsctl"):
        with open(ats.program(name), "rb") as f:
            ats.equal(names["SPDXRef-" + name]["checksums"][0]["checksumValue"],
                      hashlib.sha256(f.read()).hexdigest())
        links = [(r["relationshipType"], names[r["relatedSpdxElement"]]["name"])
                 for r in d["relationships"] if r["spdxElementId"] == "SPDXRef-" + name]
        said = subprocess.run(["readelf", "-d", ats.program(name)], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        # libevent_core-2.1.so.7 is -levent_core, and libpcre2-8.so.0 is -lpcre2-8.
        need = {re.sub(r"(?<=event_core|vent_extra)-2\.1$", "", x)
                for x in re.findall(r"\[(lib[^]]+?)\.so", said)}
        kind = "DYNAMIC_LINK" if need else "STATIC_LINK"
        ats.equal({k for k, _ in links}, {kind}, name)
        for lib in need:
            ats.check((kind, lib) in links, "%s needs %s: %s" % (name, lib, links))
        if not need:
            ats.check({"libseccomp", "libcrypto", "libc"} <= {x for _, x in links}, links)
    for p in d["packages"]:
        ats.check(p["licenseDeclared"] != "NOASSERTION" and p["versionInfo"] != "unknown", p)


ats.main()
