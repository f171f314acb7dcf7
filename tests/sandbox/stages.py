# SPDX-License-Identifier: Apache-2.0
"""The situations that hands can find itself in, for tests that go through all of them."""
import os
import subprocess
import tempfile

from box import Box, OTHER_UID, ats

_HERE = os.path.dirname(os.path.abspath(__file__))
_CAPS = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+mknod"


class Stage:
    """prefix: argv that makes the situation. level: what hands reaches there."""

    def __init__(self, name, level, uid, prefix=(), root=True):
        self.name, self.level, self.uid, self.prefix, self.root = name, level, uid, prefix, root

    def box(self, *prefix, options=(), level=None, **kw):
        """A box in it. prefix: argv that runs inside the situation, before hands."""
        if self.root and os.geteuid() != 0:
            ats.skip("needs root to set the stage")
        return Box(self.uid, ("min_level=" + (level or self.level), "limits=check", *options),
                   prefix=(*self.prefix, *prefix), **kw)


# A container's root, and a user where no user namespace can be made.
BARE = (
    Stage("a container's root", "uid+landlock", None, ("/usr/bin/setpriv", "--bounding-set", _CAPS)),
    Stage("a user without namespaces", "landlock", OTHER_UID, (
        "/usr/bin/unshare", "-U", "--map-user=%d" % OTHER_UID, "--keep-caps", "/bin/sh", "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        "exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"", "sh")))
ALL = (Stage("root", "namespaces", None), Stage("a user", "namespaces", OTHER_UID), *BARE) \
    if os.geteuid() == 0 else (Stage("a user", "namespaces", None, root=False), *BARE)


def helper(name):
    """The path of NAME.c, built static; its directory is the caller's to remove."""
    d = tempfile.mkdtemp(prefix="ats-%s-" % name)
    os.chmod(d, 0o755)
    subprocess.run(["cc", "-static", "-O1", "-w", "-D_GNU_SOURCE", "-o", d + "/" + name,
                    os.path.join(_HERE, name + ".c")], check=True)
    return d + "/" + name


def refused(stage, code, said, *prefix, **kw):
    """No box: the peer hears code and a text that matches said."""
    try:
        b = stage.box(*prefix, **kw)
    except ats.Failure as e:
        ats.matches(str(e).split("; log: ")[0].replace("\n", " "), ": %s: .*(%s)" % (code, said))
        return
    with b:
        raise ats.Failure("%s: a box that should not be: %s" % (stage.name, b.confinement))
