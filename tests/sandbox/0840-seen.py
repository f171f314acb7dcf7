#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the confinement makes of each process, as the kernel tells it to somebody outside: ids,
capabilities, limits, namespaces and mounts, each compared with what it must be. An attack shows
that one of several walls holds; this shows that each of them stands."""
import contextlib
import errno
import os
import resource
import signal

from roles import ALL as ROLES
from roles import Running, roles, status
from stages import ALL, ats

KIB, MIB = 1 << 10, 1 << 20
ZYGOTES = ("zygote-read", "zygote-write", "zygote-shell")
FILES = ("zygote-read", "zygote-write", "worker-read", "worker-write")
SYS_ADMIN, SETPCAP = 1 << 21, 1 << 8
BOX = "namespaces"


# What a launcher may bring along, and no process of the box may keep.
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.geteuid() == 0:
    os.setgroups([4])
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE,
                  resource.RLIMIT_MSGQUEUE):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (7, 7))


def look(fn, found, stage, b):
    """A worker that was prepared may be replaced while it is looked at: then at the others."""
    for _ in range(3):
        try:
            fn(found, stage, b)
            return
        except (FileNotFoundError, ProcessLookupError):
            found = roles(b)
    fn(found, stage, b)


def test(name, stages, options=()):
    """Registers a test for these stages; it gets {role: [pid]}, the stage and the box."""
    def register(fn):
        for stage in ats.some(stages):
            def run(stage=stage):
                if os.geteuid() != 0:
                    ats.skip("only root can look into other processes")
                old = os.umask(0)
                try:
                    b = stage.box(options=options)
                finally:
                    os.umask(old)
                with b, Running(b) as found:
                    look(fn, found, stage, b)
            ats.case("%s (%s)" % (name, stage.name), run, home=False)
        return fn
    return register


VIEWS = [s for s in ALL if s.level == BOX]


def each(found, names):
    return [(n, pid) for n in names for pid in found[n]]


# ---- ids and privilege -------------------------------------------------------------------------
@test("uids and groups", ALL)
def _(found, stage, _b):
    own = stage.uid if stage.uid is not None else os.geteuid()
    fronts = {status(p)["Uid"] for p in found["ats-front"]}
    for name, pid in each(found, ROLES):
        s = status(pid)
        uids, gids = set(s["Uid"].split()), set(s["Gid"].split())
        ats.equal((len(uids), len(gids)), (1, 1), name)
        ats.check(uids != {"0"} and gids != {"0"}, "%s is root: %s" % (name, s["Uid"]))
        if stage.uid is None:
            ats.equal(s["Groups"].split(), [], name)
            ats.check(name == "ats-front" or s["Uid"] not in fronts, "%s has front's uid" % name)
        else:
            ats.equal(uids, {str(own)}, name)


@test("sets of capabilities", ALL)
def _(found, stage, _b):
    for name, pid in each(found, ROLES):
        s = status(pid)
        want = SYS_ADMIN | SETPCAP if name == "zygote-shell" and stage.level == BOX else 0
        for key in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            least = 0 if key in ("CapInh", "CapAmb") else want
            ats.equal(int(s[key], 16), least, "%s of %s" % (key, name))
        if stage.level != "landlock":       # it takes CAP_SETPCAP to empty that one
            ats.equal(int(s["CapBnd"], 16), 0, "CapBnd of " + name)
        ats.equal(s["NoNewPrivs"], "1", name)


@test("securebits are locked", VIEWS[:1] + [s for s in ALL if s.level == "uid+landlock"])
def _(_found, _stage, b):
    # NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE and all locks
    ats.equal(b.out("python3 -c 'import ctypes; print(ctypes.CDLL(None).prctl(27, 0, 0, 0, 0))'"),
              str(0b11101111), "PR_GET_SECUREBITS")


@test("no signal is ignored for a command", ALL)
def _(_found, _stage, b):
    for start in ("", ": $_; "):        # a bash that waited, and one that is started for it
        ats.equal(b.out(start + "echo \"[$(trap -p)]\""), "[]", "ignored")


@test("nobody of the same user may look into one", [s for s in ALL if s.uid is not None])
def _(found, _stage, _b):
    if os.environ.get("ATS_SANITIZED"):
        ats.skip("a sanitizer needs to look into itself")
    for name, pid in each(found, ("ats-front", *ZYGOTES, "worker-read", "worker-write", "monitor")):
        ats.equal(os.stat("/proc/%d/environ" % pid).st_uid, 0, name + " is dumpable")


# ---- limits and what is inherited ------------------------------------------------------------
def limits(pid):
    """{name: (soft, hard)}"""
    out = {}
    with open("/proc/%d/limits" % pid, encoding="ascii") as f:
        for line in f.read().splitlines()[1:]:
            out[line[:26].strip()] = tuple(line[26:68].split())
    return out


NONE = {"Max core file size": 0, "Max realtime priority": 0, "Max nice priority": 0,
        "Max msgqueue size": 0}


@test("limits", ALL, options=("cpu_s=77", "processes=333", "open_files=900", "file_mib=30",
                              "memory_mib=1024"))
def _(found, stage, _b):
    both = {"Max file size": 30 * MIB, "Max locked memory": 64 * KIB}
    if not os.environ.get("ATS_SANITIZED"):
        both["Max data size"] = 1024 * MIB
    # Ours have more than a command: as many descriptors may be under way when one is passed.
    files = {**NONE, **both, "Max open files": 900 + 1024}
    call = dict(files)
    if stage.level != BOX:
        call["Max processes"] = 333
    command = {**call, "Max open files": 900, "Max pending signals": 16384}
    want = [(n, NONE) for n in ("ats-front",)] + [(n, files) for n in FILES] + \
        [("monitor", call), ("sleep", command)]
    for name, rows in want:
        for pid in found[name]:
            # One that is just being made has its caller's, which are not 0, for a moment.
            ats.until(lambda pid=pid: limits(pid)["Max core file size"] == ("0", "0"),
                      "%s has its limits" % name)
            have = limits(pid)
            for key, value in rows.items():
                ats.equal(have[key], (str(value), str(value)), "%s of %s" % (key, name))
    for pid in found["sleep"]:
        ats.equal(limits(pid)["Max cpu time"][0], "77", "of a command")


@test("a session of its own, first to go, no write for others", ALL)
def _(found, _stage, _b):
    for name, pid in each(found, (*ZYGOTES, "monitor")):
        with open("/proc/%d/stat" % pid, encoding="ascii") as f:
            session = f.read().rsplit(") ", 1)[1].split()[3]
        ats.equal(int(session), pid, "the session of " + name)
    for name, pid in each(found, (*FILES, "zygote-shell", "monitor", "sleep")):
        ats.equal(status(pid)["Umask"], "0022", name)
    for name, pid in each(found, (*FILES, *ZYGOTES, "monitor", "sleep")):
        with open("/proc/%d/oom_score_adj" % pid, encoding="ascii") as f:
            ats.equal(int(f.read()), 500, name)


# ---- namespaces and mounts ----------------------------------------------------------------------
def namespace(pid, kind):
    return os.readlink("/proc/%s/ns/%s" % (pid, kind))


@test("namespaces", VIEWS)
def _(found, stage, _b):
    one = {n: found[n][0] for n in ROLES}
    one["monitor"] = int(status(one["sleep"])["PPid"])      # another waits for the next call
    for kind in ("mnt", "pid", "ipc", "uts", "cgroup", "net") + (("user",) if stage.uid else ()):
        for name in ROLES:
            ats.check(namespace(one[name], kind) != namespace("self", kind),
                      "%s has our namespace %s" % (name, kind))
    mounts = [namespace(one[n], "mnt") for n in (*ZYGOTES, "monitor")]
    ats.equal(len(set(mounts)), 4, "mount namespaces: %s" % mounts)
    ats.check(namespace(one["monitor"], "pid") != namespace(one["zygote-shell"], "pid"),
              "the call has the box's pid namespace")
    ats.equal(namespace(one["sleep"], "mnt"), namespace(one["monitor"], "mnt"), "the command's")


@test("no user namespace is left to be made", VIEWS[1:])
def _(_found, _stage, b):
    ats.equal(b.out("cat /proc/sys/user/max_user_namespaces"), "0")


@test("processes of a call are counted by its pid namespace", VIEWS, options=("processes=333",))
def _(_found, _stage, b):
    if "pid-max" in b.confinement["gaps"]:
        ats.skip("this kernel has one pid_max for all")
    ats.equal(b.out("cat /proc/sys/kernel/pid_max"), "333")


class Mount:
    def __init__(self, line):
        left, right = line.rstrip("\n").split(" - ")
        cells, more = left.split(), right.split()
        self.root, self.at, self.options = cells[3], cells[4], set(cells[5].split(","))
        self.kind, self.super = more[0], more[2]
        self.tags = [t.split(":")[0] for t in cells[6:]]


def all_mounts(pid):
    with open("/proc/%d/mountinfo" % pid, encoding="utf-8") as f:
        return list(map(Mount, f))


def mounts(pid):
    """{place: the mount that is seen there}"""
    return {m.at: m for m in all_mounts(pid)}


RO, SAFE = {"ro", "nosuid", "nodev"}, {"rw", "nosuid", "nodev"}
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SYSTEM = ("/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
          "/nix/store")
CREDENTIALS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
               "/etc/sudoers.d", "/etc/ssl/private", "/etc/ssh/ssh_host_rsa_key",
               "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/krb5.keytab",
               "/etc/docker")
START_UP = (".bashrc", ".bash_profile", ".bash_login", ".profile", ".bash_logout", ".zshenv",
            ".zprofile", ".zshrc")
PROC_HIDDEN = ("kcore", "kmsg", "keys", "kallsyms", "timer_list", "sysrq-trigger", "sched_debug",
               "key-users", "acpi", "scsi")
PROC_READ = ("sys", "irq", "bus", "fs")


def has(m, options, what):
    ats.check(m is not None, what + " is no mount")
    ats.check(options <= m.options, "%s: %s of %s" % (what, sorted(m.options), sorted(options)))


def hidden(seen, path):
    """Under the null device, or an empty directory that cannot be written."""
    m = seen.get(path)
    ats.check(m is not None, path + " is not covered")
    ats.check(m.root == "/null" or (m.kind != "proc" and "ro" in m.options),
              "%s: %s of %s, %s" % (path, m.root, m.kind, sorted(m.options)))


def is_there(path):
    return os.path.lexists(path) and not os.path.islink(path)


@test("the system is read-only, /tmp and the rest are its own", VIEWS)
def _(found, _stage, b):
    for name in ("worker-read", "worker-write", "sleep"):
        seen = mounts(found[name][0])
        has(seen["/"], RO, "/")
        for path in filter(is_there, SYSTEM):
            has(seen.get(path), RO, path)
        own = RO if name == "worker-read" else SAFE
        for path in ("/tmp", "/dev/shm"):
            has(seen.get(path), own, path)
            ats.equal(seen[path].kind, "tmpfs", path)
            ats.check("size=" in seen[path].super, "%s has no size" % path)
            ats.check("nr_inodes=" in seen[path].super, "%s has any number of files" % path)
        ats.equal((seen["/dev/pts"].kind, "nosuid" in seen["/dev/pts"].options), ("devpts", True))
        ats.equal(sorted(p[5:] for p in seen if os.path.dirname(p) == "/dev"),
                  sorted((*DEVICES, "pts", "shm")))
        for path in (b.ws, "/home/agent"):
            has(seen.get(path), own, path)
        has(seen.get("/proc"), {"nosuid", "nodev", "noexec"}, "/proc")
        ats.check("/sys" not in seen, "/sys is there")
    has(mounts(found["worker-read"][0]).get("/run/ats/spill"), RO | {"noexec"}, "the spill")
    ats.check("/run/ats/spill" not in mounts(found["sleep"][0]), "a command sees the spill")


@test("nothing is written through a read worker's mounts, not by an open to read either", VIEWS)
def _(found, _stage, b):
    with open(os.path.join(b.ws, "whole"), "w", encoding="ascii") as f:
        f.write("whole")
    for pid in found["worker-read"]:
        for m in all_mounts(pid):
            has(m, {"ro"}, "%s of a read worker" % m.at)
        try:        # as root, with all capabilities: what the mounts alone say
            os.close(os.open("/proc/%d/root%s/whole" % (pid, b.ws), os.O_RDONLY | os.O_TRUNC))
            raise ats.Failure("a file was cut through %d" % pid)
        except OSError as e:
            ats.equal(e.errno, errno.EROFS, "the cut of a file")
    with open(os.path.join(b.ws, "whole"), encoding="ascii") as f:
        ats.equal(f.read(), "whole", "the file")


@test("credentials, accounts and start-up files are covered", VIEWS)
def _(found, _stage, _b):
    for name in ("worker-read", "worker-write", "sleep"):
        seen = mounts(found[name][0])
        for path in filter(is_there, CREDENTIALS):
            hidden(seen, path)
        for path in ("/etc/passwd", "/etc/group", *("/home/agent/" + x for x in START_UP)):
            has(seen.get(path), {"ro"}, path)


@test("what of /proc acts on the host or tells of it is covered", VIEWS)
def _(found, _stage, _b):
    seen = mounts(found["sleep"][0])
    for name in filter(lambda n: os.path.exists("/proc/" + n), PROC_HIDDEN):
        hidden(seen, "/proc/" + name)
    for name in filter(lambda n: os.path.exists("/proc/" + n), PROC_READ):
        has(seen.get("/proc/" + name), {"ro"}, "/proc/" + name)


@test("a call gets mounts of the box and gives none", VIEWS)
def _(found, _stage, b):
    ats.check("shared" in mounts(found["zygote-shell"][0])[b.ws].tags, "the zygote's is not shared")
    ats.equal(mounts(found["sleep"][0])[b.ws].tags, ["master"], "the call's")


ats.main()
