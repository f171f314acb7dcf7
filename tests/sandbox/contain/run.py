# SPDX-License-Identifier: Apache-2.0
"""Runs the checks in one situation and prints TAP, then a table.

  root        namespaces, started by root
  user        namespaces, started by an ordinary user
  image-root  in a container (container.c), as its root: no namespaces, uids of their own
  image-user  in the same container, as a user: Landlock and seccomp alone
  bare        no box at all, as an ordinary user: the proof that the checks bite

The runner itself is inside the container, and so is what is attacked: the harder case. What
is expected to escape or break stands in residues.tsv: a residue with its reason, which must
escape (one that does not any more fails as stale), or the name of a gap, for what may escape
only where the box itself tells of that gap. ATS_CONTAIN=all runs all checks, else the quick ones run;
any other value is a pattern of names. ATS_CONTAIN_UNVERIFIED=1 goes on in a box whose self-test
failed (tests/sandbox/layers takes layers away). ATS_CONTAIN_PREFIX=WORDS goes before hands (a launcher
of somebody else's, to compare).
"""
import fcntl
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile

from contain.base import CHECKS, Case

HERE = os.path.dirname(os.path.abspath(__file__))
SANDBOX = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("ATS_BUILD", os.path.join(SANDBOX, "..", "..", "build")))
USER, BARE_USER = 12345, 12346
LEVELS = {"root": "namespaces", "user": "namespaces", "image-root": "uid+landlock",
          "image-user": "landlock"}
UIDS = {"user": USER, "image-user": USER, "bare": BARE_USER}
BITE = 0.75
TRIES = 3       # a box's self-test has a time limit, which a busy machine may exceed
GOOD = ("CONTAINED", "USABLE")


# ---- programs -----------------------------------------------------------------------------
def sources(name):
    if name == "attack":
        return sorted(os.path.join(HERE, f) for f in os.listdir(HERE)
                      if f.startswith("attack") and f.endswith(".c"))
    if name == "target":
        return [os.path.join(HERE, "target.c")]
    return [os.path.join(SANDBOX, name + ".c")]


FLAGS = {"attack": ["-static", "-pthread"], "target": ["-static", "-lutil"],
         "boxcall": ["-static"], "container": ["-lseccomp"]}


def build(name, into):
    """The path of a test program, compiled when it is not there or older than its source."""
    path = os.path.join(into, name)
    files = sources(name)
    newest = max(os.path.getmtime(f) for f in files + [os.path.join(HERE, "attacks.def"),
                                                       os.path.join(HERE, "attack.h")])
    if os.path.exists(path) and os.path.getmtime(path) >= newest:
        return path
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-I", HERE, "-o",
                    path + ".new", *files, *FLAGS[name]], check=True)
    os.rename(path + ".new", path)
    return path


def programs(scratch):
    """{name: path} of copies that any user may run."""
    kept = os.path.join(BUILD, "sandbox")
    os.makedirs(kept, exist_ok=True)
    with open(os.path.join(kept, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = {n: build(n, kept) for n in FLAGS}
    made["hands"] = os.path.join(BUILD, "ats-hands")
    out = {}
    for name, path in made.items():
        out[name] = os.path.join(scratch, name)
        shutil.copy(path, out[name])
        os.chmod(out[name], 0o755)
    return out


# ---- one situation --------------------------------------------------------------------------
def launcher(situation, progs):
    if situation == "bare":
        return lambda c: []
    prefix = os.environ.get("ATS_CONTAIN_PREFIX", "").split()
    box = [*prefix, progs["boxcall"], "-l", LEVELS[situation]]
    box += ["-u"] if "ATS_CONTAIN_UNVERIFIED" in os.environ else []
    return lambda c: [*box, "-s", c.state, "-t", str(c.check.seconds * 1000), progs["hands"], c.ws,
                      "exec"]


def chosen():
    which = os.environ.get("ATS_CONTAIN", "quick")
    if which == "quick":
        return [c for c in CHECKS if c.quick]
    return [c for c in CHECKS if which == "all" or fnmatch.fnmatch(c.name, which)]


class Expected:
    """The rows of residues.tsv for one situation."""

    def __init__(self, situation, gaps):
        """gaps: what the box itself says that it lacks."""
        self.residues, self.gaps, self.most = {}, {}, None
        with open(os.path.join(HERE, "residues.tsv"), encoding="utf-8") as f:
            for cells in (x.rstrip("\n").split("\t") for x in f if not x.startswith("#")):
                if situation not in cells[0].split():
                    continue
                if cells[1] == "at most":
                    self.most = int(cells[2])
                elif cells[2] == "residue":
                    self.residues[cells[1]] = cells[3]
                elif cells[2] in gaps:
                    self.gaps[cells[1]] = cells[2]

    def __contains__(self, name):
        return name in self.residues or name in self.gaps


def told_gaps(situation, base, progs):
    """The gaps in the report of a box of this situation."""
    if situation == "bare":
        return []
    ws = os.path.join(base, "ws")
    os.makedirs(ws)
    argv = [*os.environ.get("ATS_CONTAIN_PREFIX", "").split(), progs["boxcall"], "-l",
            LEVELS[situation], "-i", progs["hands"], ws]
    for _ in range(TRIES):
        out = subprocess.run(argv, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if out.returncode == 0:
            return json.loads(out.stdout)["confinement"]["gaps"]
    sys.exit("no box: %s" % " ".join(argv))


class Tap:
    def __init__(self):
        self.n, self.failed = 0, 0

    def line(self, ok, name, note=""):
        self.n += 1
        self.failed += not ok
        print("%s %d - %s%s" % ("ok" if ok else "not ok", self.n, name, note), flush=True)


def report(tap, situation, c, verdict, why, expected):
    """Whether a verdict is as it should be. bare is judged as a whole."""
    name, why = "%s: %s" % (situation, c.name), why.replace("\n", " ")[:200]
    if verdict == "SKIP":
        tap.line(True, name, " # SKIP " + why)
    elif verdict in GOOD and c.name in expected.residues:
        tap.line(False, "%s: stale: residues.tsv expects it to fail" % name)
    elif verdict in GOOD or verdict != "ERROR" and (situation == "bare" or c.name in expected):
        tap.line(True, name)
    else:
        tap.line(False, "%s: %s: %s (%s)" % (name, verdict, why, c.claim))


def table(situation, seen, expected):
    """Lines for the reader, shown whatever passed."""
    count = {v: sum(x == v for x in seen.values())
             for v in ("CONTAINED", "ESCAPED", "USABLE", "BROKEN", "SKIP", "ERROR")}
    print("#: %-11s %s" % (situation, "  ".join("%s %3d" % kv for kv in count.items())))
    bad = [n for n, v in seen.items() if v in ("ESCAPED", "BROKEN") and situation != "bare"]
    for what, names in (("residues", [n for n in bad if n in expected.residues]),
                        ("told gaps", ["%s (%s)" % (n, expected.gaps[n]) for n in bad
                                       if n in expected.gaps])):
        if names:
            print("#: %-11s %s: %s" % ("", what, ", ".join(names)))
    return count


def run_all(situation, base, progs):
    tap, seen = Tap(), {}
    expected = Expected(situation, told_gaps(situation, base, progs))
    launch = launcher(situation, progs)
    for c in chosen():
        for _ in range(TRIES):
            verdict, why = Case(c, base, progs, launch).run()
            if verdict != "ERROR":
                break
        seen[c.name] = verdict
        report(tap, situation, c, verdict, why, expected)
    count = table(situation, seen, expected)
    if expected.most is not None:
        tap.line(len(expected.residues) <= expected.most,
                 "%s: at most %d residues" % (situation, expected.most))
    if situation == "bare":
        tried = count["ESCAPED"] + count["CONTAINED"]
        tap.line(count["ESCAPED"] >= BITE * tried, "bare: %d of %d checks escape without a box" %
                 (count["ESCAPED"], tried))
    print("1..%d" % tap.n, flush=True)
    return 1 if tap.failed else 0


def become(uid):
    if uid is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def skip(why):
    print("1..0 # SKIP %s" % why)
    return 0


def main(situation):
    """Never returns."""
    inside = os.environ.pop("ATS_CONTAIN_INSIDE", None)
    if os.geteuid() != 0 and situation not in ("user", "bare"):
        sys.exit(skip("needs root to set the stage"))
    if inside is None:
        scratch = tempfile.mkdtemp(prefix="ats-contain-")
        os.chmod(scratch, 0o755)
        try:
            sys.exit(start(situation, scratch))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    progs = {n: os.path.join(inside, n) for n in (*FLAGS, "hands")}
    become(UIDS.get(situation))
    sys.exit(run_all(situation, os.path.join(inside, "work", "case"), progs))


def start(situation, scratch):
    """Again from the start, inside the container or as the user."""
    progs = programs(scratch)
    work = os.path.join(scratch, "work")
    os.mkdir(work, 0o755)
    if os.geteuid() == 0 and situation in UIDS:
        os.chown(work, UIDS[situation], UIDS[situation])
    prefix = [progs["container"]] if situation.startswith("image") else []
    env = dict(os.environ, ATS_CONTAIN_INSIDE=scratch, ATS_BUILD=BUILD, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([*prefix, sys.executable, os.path.abspath(sys.argv[0])], env=env,
                          check=False).returncode


def load():
    """All checks, in the order in which they are printed."""
    # pylint: disable=unused-import,import-outside-toplevel
    from contain import files, protected, processes, kernel, network, limits, launch, use  # noqa
