#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built, clean for lintian, and on an empty Debian 12 installed, used, upgraded
under a brain that runs, removed and purged."""
import functools
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_root
from debian_root import ats

OUT = os.path.join(ats.BUILD, "deb-test")


@functools.cache
def build(version):
    """The packages of this tree with the programs that are built, as that version."""
    if not (shutil.which("dpkg-buildpackage") and shutil.which("dh")):
        ats.skip("needs dpkg-dev and debhelper")
    out = os.path.join(OUT, version)
    os.makedirs(out, exist_ok=True)
    tar = os.path.join(OUT, "ats.tar.gz")
    for argv in ([os.path.join(ats.TOP, "packaging/dist"), tar, "ats-" + version],
                 [os.path.join(ats.TOP, "packaging/deb"), tar, out]):
        r = subprocess.run(argv, env=dict(os.environ, PREBUILT=ats.BUILD, DEB_VERSION=version),
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        ats.equal(r.returncode, 0, r.stdout)
    return sorted(glob.glob(out + "/*.deb"))


@ats.test("the packages are built, and lintian has nothing to say", home=False)
def _():
    debs = build("0.1.0")
    names = [os.path.basename(d).split("_")[0] for d in debs]
    for name in ("ats-brain", "ats-doc", "ats-hands", "libats0", "libats-dev"):
        ats.check(name in names, names)
    if not shutil.which("lintian"):
        ats.skip("no lintian here")
    r = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning",
                        *glob.glob(OUT + "/0.1.0/*.changes")], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    ats.equal((r.returncode, r.stdout.replace("running with root privileges is not recommended!\n",
                                              "").strip()), (0, ""))


@ats.test("the packages hold what make install installs", home=False)
def _():
    found = set()
    for deb in build("0.1.0"):
        said = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, check=True)
        names = subprocess.run(["tar", "-t"], input=said.stdout, stdout=subprocess.PIPE, check=True)
        found |= {n[2:] for n in names.stdout.decode().split("\n") if n and n[-1] != "/"}
    with open(os.path.join(ats.TOP, "packaging", "manifest"), encoding="ascii") as f:
        wanted = {x.strip() for x in f if x.strip() and x[0] != "#"}
    # Compressed, elsewhere, or as Debian has it.
    for name in sorted(wanted):
        other = name.replace("zsh/site-functions", "zsh/vendor-completions")
        if name.endswith(("agent-tool-server/LICENSE", "agent-tool-server/CHANGELOG.md")):
            continue
        if name.startswith(("usr/lib/libats", "usr/lib/pkgconfig")):
            other = name.replace("usr/lib/", "usr/lib/x86_64-linux-gnu/")
        # Documents are not: links between them say their names.
        packed = not other.endswith((".md", ".json")) and "/examples/" not in other
        ats.check(other in found or (packed and other + ".gz" in found),
                  "%s is in no package" % name)


# In the root: a user of its own, who knows nothing but the manual.
LIFE = r"""
say() { echo "== $*"; }
as() { setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/u USER=u \
	XDG_RUNTIME_DIR=/run/user/1000 sh -euc "cd /home/u/project; $*"; }
ours() {
	for p in /proc/[0-9]*; do
		case $(readlink "$p/exe" 2> /dev/null || :) in
		*/ats-brain* | */ats-engine* | */ats-hands* | */ats-gateway*) echo "${p#/proc/}" ;;
		esac
	done
}
useradd -m -u 1000 u
install -d -m 700 -o u -g u /run/user/1000
install -d -o u -g u /home/u/project
say install
dpkg -i /packages/old/*.deb
test "$(stat -c %U:%a /run/ats)" = ats-brain:755
getent group ats > /dev/null
test -e /usr/include/ats.h
say doctor
as 'atsctl doctor' || test $? -eq 1
say exec
test "$(as 'atsctl exec -- sh -c "echo first > file; cat file"')" = first
pid=$(cut -d ' ' -f 1 /home/u/.local/state/ats/brain.lock)
say upgrade
dpkg -i /packages/new/*.deb
kill -0 "$pid"
test "$(as 'atsctl exec -- cat file')" = first
as 'atsctl shutdown'
test "$(as 'atsctl exec -- cat file')" = first
say remove
install -d -o ats-brain -g ats-brain -m 700 /var/lib/ats
touch /var/lib/ats/kept
dpkg -r ats-doc libats-dev libats0 ats-brain ats-hands
test -z "$(ours)"
test -d /home/u/.local/state/ats/vault
test -e /var/lib/ats/kept
test ! -e /usr/bin/atsctl
test ! -e /usr/include/ats.h
say again
dpkg -i /packages/new/*.deb
test "$(as 'atsctl exec -- cat file')" = first
test "$(as 'atsctl session ls' | grep -c project)" -ge 1
say purge
dpkg -P ats-doc libats-dev libats0 ats-brain ats-hands
test -z "$(ours)"
test ! -e /var/lib/ats
test -d /home/u/.local/state/ats/vault
left=$(find / -xdev \( -path /proc -o -path /packages -o -path /home -o -path /var/lib/dpkg \
	-o -path /var/log -o -path /tmp \) -prune -o -name '*ats-*' -print | grep -v -e '/deb-' || :)
test -z "$left" || { echo "left: $left"; exit 1; }
say done
"""


@ats.test("on an empty Debian: installed, used by a user, upgraded, removed, purged", home=False)
def _():
    old, new = build("0.1.0"), build("0.1.1")
    with debian_root.Root(old) as root:
        root.put(old, "old")
        root.put(new, "new")
        code, said = root.run(LIFE)
        ats.equal((code, said.strip().splitlines()[-1]), (0, "== done"), said[-3000:])


ats.main()
