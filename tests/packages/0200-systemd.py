#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units of the system under a real systemd, on an empty Debian with our packages: hands of one
user, brain and engine of two others, a client of a fourth; kills, an upgrade, removal."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_root
from debian_root import ats

# As in debian_root, with what systemd wants of a machine.
_BOOT = """
import ctypes, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
def mount(what, where, kind, flags=0):
    if libc.mount(what, where, kind, flags, None) < 0:
        raise OSError(ctypes.get_errno(), "mount", where)
top = sys.argv[1].encode()
BIND, REC, PRIVATE = 1 << 12, 1 << 14, 1 << 18
mount(None, b"/", None, REC | PRIVATE)
mount(top, top, None, BIND | REC)
mount(b"proc", top + b"/proc", b"proc")
mount(b"sysfs", top + b"/sys", b"sysfs", 1)
mount(b"cgroup2", top + b"/sys/fs/cgroup", b"cgroup2")
mount(b"tmpfs", top + b"/dev", b"tmpfs")
for name, a, b in (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8),
                   ("urandom", 1, 9), ("tty", 5, 0)):
    at = sys.argv[1] + "/dev/" + name
    os.mknod(at, 0o666 | stat.S_IFCHR, os.makedev(a, b))
    os.chmod(at, 0o666)
os.symlink("pts/ptmx", top + b"/dev/ptmx")
os.mkdir(top + b"/dev/shm")
os.mkdir(top + b"/dev/pts")
mount(b"tmpfs", top + b"/run", b"tmpfs")
os.chdir(top)
if libc.syscall(155, b".", b".") < 0 or libc.umount2(b".", 2) < 0:
    raise OSError(ctypes.get_errno(), "pivot_root")
os.chdir("/")
os.execve("/lib/systemd/systemd", ["systemd", "--system", "--log-target=null"],
          {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "container": "other", "LC_ALL": "C"})
"""

# What a person types, as docs/OPERATING.md says. It ends the machine.
LIFE = r"""
exec > /result 2>&1
set -eu
trap 'echo "== exit $?"; systemctl poweroff -f -f' EXIT
say() { echo "== $*"; }
ctl() { who=$1; shift
	setpriv --reuid "$who" --regid "$who" --init-groups atsctl --socket /run/ats/brain.sock "$@"; }
runs() { test "$(systemctl is-active "$1")" = active; }
usermod -aG ats u
install -d -o ats-hands -g ats-hands /srv/ats/one
echo "ATS_HANDS_ALLOW_UID=$(id -u ats-brain)" > /etc/ats/hands-one.env
printf '{"sandbox": {"url": "unix:/run/ats-hands/one/hands.sock", "allow_uids": ["%s"]}}\n' \
	"$(id -u ats-hands)" > /etc/ats/brain.json
systemctl start ats-hands@one ats-brain.socket ats-engine.socket
runs ats-brain && exit 9
say exec
test "$(ctl u exec --workspace /srv/ats/one -- sh -c 'echo first > f; cat f')" = first
for unit in ats-brain ats-engine ats-hands@one; do runs $unit; done
test "$(stat -c %U /srv/ats/one/f)" = ats-hands
ctl u --json status | grep -q '"level":"namespaces"'
say users
test "$(stat -c %U "/proc/$(systemctl show -P MainPID ats-brain)")" = ats-brain
test "$(stat -c %U "/proc/$(systemctl show -P MainPID ats-engine)")" = ats-engine
for unit in ats-brain ats-engine; do
	grep -q '^CapBnd:.*0000000000000000$' "/proc/$(systemctl show -P MainPID $unit)/status"
done
ctl nobody status && exit 8
say engine
old=$(systemctl show -P MainPID ats-engine)
systemctl kill -s KILL ats-engine
test "$(ctl u exec --workspace /srv/ats/one -- cat f)" = first
test "$old" != "$(systemctl show -P MainPID ats-engine)"
say brain
systemctl kill --kill-whom=main -s KILL ats-brain
test "$(ctl u exec --workspace /srv/ats/one -- cat f)" = first
say upgrade
old=$(systemctl show -P MainPID ats-brain)
dpkg -i /packages/new/*.deb
test "$(ctl u exec --workspace /srv/ats/one -- cat f)" = first
test "$old" != "$(systemctl show -P MainPID ats-brain)"
say stop
systemctl stop ats-brain
runs ats-engine && exit 7
test "$(ctl u exec --workspace /srv/ats/one -- cat f)" = first
say shutdown
ctl u shutdown && exit 6
ctl root shutdown
say remove
dpkg -r ats-brain ats-hands
for p in /proc/[0-9]*; do
	case $(tr '\0' ' ' < $p/cmdline || :) in *ats-brain* | *ats-engine* | *ats-hands*) exit 5 ;; esac
done
test -e /var/lib/ats-engine/journal.db
say done
"""


@ats.test("units of the system under systemd: four users, kills, an upgrade, removal", home=False)
def _():
    out = os.path.join(ats.BUILD, "deb-test")
    old, new = (sorted(glob.glob(os.path.join(out, v, "*.deb"))) for v in ("0.1.0", "0.1.1"))
    if not (old and new):
        ats.skip("0100-deb.py makes the packages")
    with debian_root.Root(old) as root:
        if not os.path.exists(root.top + "/lib/systemd/systemd"):
            ats.skip("no systemd in the root")
        root.put(old, "old")
        root.put(new, "new")
        code, said = root.run("dpkg -i /packages/old/*.deb && useradd -m -u 1000 u")
        ats.equal(code, 0, said)
        with open(root.top + "/life.sh", "w", encoding="ascii") as f:
            f.write(LIFE)
        unit = root.top + "/etc/systemd/system/life.service"
        with open(unit, "w", encoding="ascii") as f:
            f.write("[Service]\nType=oneshot\nTimeoutStartSec=100\nExecStart=/bin/sh /life.sh\n")
        want = root.top + "/etc/systemd/system/multi-user.target.wants"
        os.makedirs(want, exist_ok=True)
        os.symlink("/etc/systemd/system/life.service", want + "/life.service")
        os.symlink("/lib/systemd/system/multi-user.target",
                   root.top + "/etc/systemd/system/default.target")
        subprocess.run(["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup",
                        "--fork", "--kill-child", sys.executable, "-c", _BOOT, root.top],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=110, check=False)
        if not os.path.exists(root.top + "/result"):
            ats.skip("systemd does not run here")
        with open(root.top + "/result", encoding="utf-8") as f:
            said = f.read()
        ats.equal([x for x in said.splitlines() if x.startswith("== ")][-2:], ["== done", "== exit 0"], said[-3000:])


ats.main()
