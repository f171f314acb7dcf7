# SPDX-License-Identifier: Apache-2.0
"""Boxes without namespaces: own uids with Landlock, or Landlock alone."""
import os

from box import Box, OTHER_UID, ats

CAPS = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+mknod"
# A container's root, and a user where no user namespace can be made.
ROOT = ("/usr/bin/setpriv", "--bounding-set", CAPS)
USER = ("/usr/bin/unshare", "-U", "--map-user=%d" % OTHER_UID, "--keep-caps", "/bin/sh", "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        "exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"", "sh")
KINDS = (("uid+landlock", None, ROOT), ("landlock", OTHER_UID, USER))


def bare(name, options=()):
    """A test of each kind: fn(box, level)."""
    def register(fn):
        for level, uid, prefix in ats.some(KINDS):
            def run(level=level, uid=uid, prefix=prefix):
                if os.geteuid() != 0:
                    ats.skip("needs root to set the stage")
                with Box(uid, ("min_level=" + level, "limits=check", *options),
                         prefix=prefix) as b:
                    fn(b, level)
            ats.case("%s (%s)" % (name, level), run, home=False)
        return fn
    return register
