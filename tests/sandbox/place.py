# SPDX-License-Identifier: Apache-2.0
"""A workspace with protected names in each situation, for the tests of those."""
import os
import shutil
import subprocess
import tempfile

from box import Box, OTHER_UID, ats

CAPS = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+mknod"
STRANGER = 63009
OWN = 63007         # of a workspace that container root was given before
ROOT = ("/usr/bin/setpriv", "--bounding-set", CAPS)
USER = ("/usr/bin/unshare", "-U", "--map-user=%d" % OTHER_UID, "--keep-caps", "/bin/sh", "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        "exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"", "sh")
# name, uid, what starts hands, level
SITUATIONS = [("root", None, (), "namespaces"), ("user", OTHER_UID, (), "namespaces"),
              ("container root", None, ROOT, "uid+landlock"),
              ("container user", OTHER_UID, USER, "landlock")]
if os.geteuid() != 0:
    SITUATIONS = [("user", None, (), "namespaces")]


class Place:
    """A workspace that a test furnishes, and boxes on it."""

    def __init__(self, uid, prefix, level):
        self.uid, self.prefix, self.level = uid, prefix, level
        self.top = tempfile.mkdtemp(prefix="ats-protect-")
        os.chmod(self.top, 0o755)
        self.ws = os.path.join(self.top, "ws")
        os.mkdir(self.ws)

    @property
    def view(self):
        return self.level == "namespaces"

    def path(self, name):
        return os.path.join(self.ws, name)

    def write(self, name, text="host\n"):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write(text)

    def read(self, name):
        with open(self.path(name), encoding="ascii") as f:
            return f.read()

    def git(self, *args, cwd="."):
        subprocess.run(["git", "-c", "user.name=u", "-c", "user.email=u@x", "-c",
                        "protocol.file.allow=always", *args], cwd=self.path(cwd), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={"PATH": os.environ["PATH"], "HOME": self.top})

    def box(self, *options, strange=()):
        """strange: names that are given to another user, neither root nor the tools'."""
        owner = self.uid
        if owner is None and not self.view:
            owner = OWN       # what container root makes of a workspace of root's
        if owner is not None:
            for at, dirs, files in os.walk(self.ws):
                for n in dirs + files + ["."]:
                    os.lchown(os.path.join(at, n), owner, owner)
        for n in strange:
            mode = os.stat(self.path(n)).st_mode & 0o7777
            os.chown(self.path(n), STRANGER, STRANGER)
            os.chmod(self.path(n), mode)
        return Box(self.uid, ("min_level=" + self.level, *options), ws=self.ws,
                   prefix=self.prefix)

    def tree(self):
        """Names and contents below the workspace, without those moved aside."""
        got = {}
        for at, dirs, files in os.walk(self.ws):
            dirs[:] = [d for d in dirs if ".quarantine" not in d]
            for n in dirs + files:
                p = os.path.join(at, n)
                if ".quarantine" in n:
                    continue
                rel = os.path.relpath(p, self.ws)
                if os.path.islink(p):
                    got[rel] = "-> " + os.readlink(p)
                elif os.path.isdir(p):
                    got[rel] = "/"
                else:
                    with open(p, "rb") as f:
                        got[rel] = f.read()
        return got


BARE = ("uid+landlock", "landlock")


def each(name, only=("namespaces", *BARE), users=False, long=None):
    """Registers a test for each situation with one of these levels. users: not as root. long: see
    ats.some()."""
    def register(fn):
        for what, uid, prefix, level in ats.some((
                s for s in SITUATIONS if s[3] in only and not (users and "root" in s[0])), long):
            def run(uid=uid, prefix=prefix, level=level):
                p = Place(uid, prefix, level)
                try:
                    fn(p)
                finally:
                    shutil.rmtree(p.top, ignore_errors=True)
            ats.case("%s (%s)" % (name, what), run, home=False)
        return fn
    return register
