# SPDX-License-Identifier: Apache-2.0
"""Files outside of what was granted: read, written, touched, listed, known of."""
import os
import stat

from contain.base import check


def unchanged(c):
    """Nothing new in the outside, nothing else in what was there."""
    made = sorted(set(os.listdir(c.out)) - {"canary", "dir", "kept", "sock", "dsock", "got",
                                            "target.env"})
    with open(os.path.join(c.out, "kept"), encoding="utf-8") as f:
        text = f.read()
    if made:
        return "made outside: %s" % " ".join(made)
    return "a file outside was changed" if text != "kept\n" else None


check("read-canary", "a file that was not granted cannot be read by its path",
      'cat "$OUT/canary" || say refused "by its path"', quick=True)
check("read-symlink", "a symlink in the workspace widens nothing",
      'ln -s "$OUT/canary" a; cat a; ln -s "$OUT" b; cat b/canary; ln -s / c; cat "c$OUT/canary"')
check("read-hardlink", "no hard link is made of a file that cannot be read",
      'ln "$OUT/canary" a; cat a; ln -P "$TMP_FILE" b; cat b; cp -l "$OUT/kept" d && '
      'say escaped "a hard link to a file outside"')
check("read-traversal", "no .., /proc/self/cwd or /proc/self/root leads out",
      'for d in ../out "/proc/self/cwd/../out" "/proc/self/root$OUT" "/proc/thread-self/cwd/../out"'
      ' "//$OUT/." "/dev/fd/../../..$OUT" "$HOME/../../..$OUT"; do cat "$d/canary"; done')
check("read-above", "/proc of what is above shows no other root",
      'for p in $(above); do cat "/proc/$p/root$OUT/canary" "/proc/$p/cwd/../out/canary" '
      '"/proc/$p/task/$p/root$OUT/canary"; done')
check("read-descriptors", "a descriptor of a granted directory does not lead to its parent",
      "try own_fd_up")
check("read-mounts", "what was mounted before is not to be had from the list of mounts",
      'for d in $(cut -d" " -f5 /proc/self/mountinfo); do cat "$d/../out/canary" '
      '"$d$OUT/canary"; done 2>/dev/null; true')
check("write-outside", "nothing can be made outside",
      'echo x > "$OUT/made"; mkdir "$OUT/made.d"; mkfifo "$OUT/made.f"; ln -s x "$OUT/made.l"',
      verify=unchanged, quick=True)
check("write-symlink", "writing through a symlink of the workspace changes nothing outside",
      'ln -s "$OUT/made" a; echo x > a; ln -s "$OUT" b; echo x > b/made2; ln -s "$OUT/kept" d; '
      'echo x >> d; truncate -s 0 d; cp /etc/hostname d', verify=unchanged)
check("write-hardlink", "writing through a hard link changes nothing outside",
      'ln "$OUT/kept" a && echo x >> a; ln -P "$OUT/kept" b && echo x >> b', verify=unchanged)
check("write-rename", "nothing is renamed to or from the outside",
      'echo x > a; mv a "$OUT/made"; mv -f a "$OUT/kept"; mv "$OUT/kept" b; rm -f "$OUT/kept"',
      verify=lambda c: unchanged(c) if os.path.exists(os.path.join(c.out, "kept"))
      else "a file outside is gone")


def metadata(c):
    st = os.stat(os.path.join(c.out, "kept"))
    if stat.S_IMODE(st.st_mode) & 0o022 or st.st_mtime == 1000:
        return "mode %o, time %d" % (stat.S_IMODE(st.st_mode), st.st_mtime)
    return None


check("metadata", "mode, times and attributes of files outside stay",
      'chmod 666 "$OUT/kept"; touch -d @1000 "$OUT/kept"; setfattr -n user.x -v 1 "$OUT/kept"; '
      'chown 65533 "$OUT/kept"; ln -s "$OUT/kept" a; chmod 666 a; touch -d @1000 a',
      verify=metadata)
check("list-outside", "a directory outside cannot be listed",
      'ls -R "$OUT"; find "$OUT"; echo "$OUT"/dir/*; python3 -c "import os;print(os.listdir(\''
      '$OUT/dir\'))"')
check("stat-outside", "that a file outside exists, and how large it is, is not told",
      'stat "$OUT/kept" && say escaped "stat"; [ -e "$OUT/dir" ] && say escaped "access"; '
      'say refused "no more"')
check("watch-outside", "what happens outside cannot be watched", "try watch_outside")
check("home-rc", "start-up files in the user's own home cannot be written",
      'for f in .bashrc .profile .zshrc .gitconfig .ssh/authorized_keys '
      '.config/autostart/x.desktop .local/bin/ls .config/systemd/user/x.service .npmrc; do '
      'mkdir -p "$HOST_HOME/$(dirname $f)"; echo x >> "$HOST_HOME/$f"; done',
      verify=lambda c: "written: %s" % os.listdir(c.home) if os.listdir(c.home) else None,
      quick=True)
check("tmp-canary", "/tmp is private", 'cat "$TMP_FILE"; ls /tmp | grep ats-canary && '
      'say escaped "a name of the host in /tmp"; true')
check("shm-canary", "/dev/shm is private", 'cat "$SHM_FILE"; ls /dev/shm | grep ats-canary && '
      'say escaped "a name of the host in /dev/shm"; true')
check("spools", "no cron, at or service of the host can be given work",
      'for d in /var/spool/cron /var/spool/cron/crontabs /var/spool/at /etc/cron.d '
      '/etc/cron.hourly /etc/systemd/system /run/systemd/system /etc/profile.d /etc/init.d '
      '/usr/local/bin /usr/lib/systemd/user /var/lib/dpkg/info; do '
      '{ : > "$d/ats-$ID"; } && { say escaped "$d"; rm -f "$d/ats-$ID"; }; done 2>/dev/null; '
      'say refused "no other"')
check("system-files", "files of the system cannot be changed",
      'for f in /etc/passwd /etc/hosts /etc/ld.so.preload /etc/ld.so.cache /usr/bin/env '
      '/bin/bash /etc/resolv.conf; do { : >> "$f"; } 2>/dev/null && say escaped "$f"; done; '
      'say refused "no other"')
check("credential-files", "files of the system that only some may read stay unread",
      'for f in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_ed25519_key '
      '~root/.ssh/id_rsa; do [ -s "$f" ] && { : < "$f"; } 2>/dev/null && '
      'say escaped "$f"; '
      'done; '
      'ls /root 2>/dev/null | grep . && say escaped "/root can be listed"; say refused "no other"')


def root_swap(c):
    if not os.path.islink(c.ws):
        return "the workspace is gone" if not os.path.isdir(c.ws) else None
    os.unlink(c.ws)
    os.rename(c.ws + ".old", c.ws)
    return "the workspace is a symlink now"


check("root-swap", "the workspace itself cannot be replaced",
      'mv "$WS" "$WS.old" && ln -s "$OUT" "$WS"', verify=root_swap)
check("parent-swap", "what leads to the workspace cannot be replaced",
      'd=$(dirname "$WS"); mv "$d" "$d.old" && mkdir "$d"; echo x > "$d/made"; rmdir "$WS"',
      verify=lambda c: "made beside the workspace"
      if os.path.exists(os.path.join(c.base, "made")) else None)
check("race-read", "a name that changes between look and open does not lead out",
      "try race_open")


def handle(c):
    c.host("env", "OUT=" + c.out, c.programs["attack"], "handle_make", c.path(".try/handle"))


check("open-by-handle", "no file is opened by its handle",
      "try handle_open .try/handle", setup=handle)
check("device-nodes", "no node of a device is made", "try nodes")
check("devices", "no device of the host is there to be opened",
      "try open w /dev/mem /dev/kmem /dev/port /dev/vda /dev/sda /dev/kvm /dev/fuse "
      "/dev/net/tun /dev/loop-control /dev/vhost-vsock /dev/uinput /dev/snapshot /dev/autofs "
      "/dev/mapper/control /dev/console /dev/tty1 /dev/input/event0 /dev/hpet /dev/rtc0")
check("lease", "no file of the workspace keeps who opens it on the host waiting", "try lease",
      quick=True)
check("setuid-left", "no setuid file is left that makes others on the host its owner",
      "try setuid_leave")
