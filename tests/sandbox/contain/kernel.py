# SPDX-License-Identifier: Apache-2.0
"""Privilege, and the kernel's surface: what a tool must not gain, reach or switch."""
import os

from contain.base import check


def foreign_copy(c):
    """A copy of the attack that is another user's and setuid; only root can make one."""
    path = c.path(".try/setuid")
    c.host("cp", c.path(".try/attack"), path)
    try:
        os.chown(path, 65533, 65533)
    except OSError:
        pass
    os.chmod(path, 0o4755)


def capable_copy(c):
    c.host("cp", c.path(".try/attack"), c.path(".try/capable"))
    c.host("setcap", "cap_dac_override,cap_net_raw+ep", c.path(".try/capable"))


check("setuid", "a setuid program gains nothing", "try become_setuid .try/setuid",
      setup=foreign_copy)
check("file-capabilities", "nor does one with capabilities", "try become_capable .try/capable",
      setup=capable_copy)
check("privilege", "no_new_privs is on, all five sets of capabilities are empty",
      "try no_privilege", quick=True)
check("root-ids", "no other uid is to be had, and it is not 0", "try root_ids")
check("filter", "a filter of system calls is on", "try filter_on")
check("real-time", "no real-time class, no negative nice", "try real_time")
check("own-session", "the launcher's terminal is not the tool's", "try open r /dev/tty", mode="pty")
check("umask", "what a tool makes is not everybody's to write, whatever the launcher's umask",
      ": > f; mkdir d; [ -n \"$(find f d -perm /022)\" ] && say escaped 'writable by others'; "
      "say refused \"umask $(umask)\"")
check("oom-first", "tools are the first to go when memory ends",
      "s=$(cat /proc/self/oom_score_adj) || { say absent 'no /proc'; exit; }; "
      "[ \"$s\" -ge 500 ] || say escaped \"its score is $s\"; say refused 'no more'")
check("core", "no core is written", "try core; ls | grep '^core' && say escaped 'a core'; true")

check("proc-sys", "no knob of the kernel opens for writing",
      "try open w /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe "
      "/proc/sys/vm/overcommit_memory /proc/sys/kernel/randomize_va_space /proc/sys/fs/file-max "
      "/proc/sys/net/ipv4/ip_forward /proc/sys/kernel/hostname /proc/sys/user/max_user_namespaces "
      "/proc/sys/kernel/ns_last_pid /proc/sys/kernel/shmmax /proc/sys/fs/mqueue/msg_max "
      "/proc/sys/kernel/pid_max", quick=True)
check("proc-danger", "nor do the files of /proc that act or tell on the host",
      "try open w /proc/sysrq-trigger /proc/acpi/wakeup /proc/irq/default_smp_affinity "
      "/proc/bus/pci/devices /proc/mtrr /proc/scsi/scsi /proc/driver/nvram; "
      "try open r /proc/kcore /proc/kmsg /proc/keys /proc/timer_list "
      "/proc/sched_debug /proc/key-users /proc/kpagecount /proc/vmallocinfo /proc/slabinfo")
check("proc-tell", "addresses of the kernel are not told",
      "awk '$1 !~ /^0+$/ { f = 1 } END { exit !f }' /proc/kallsyms && say escaped 'kallsyms'; "
      "awk '$1 !~ /^0+/ { f = 1 } END { exit !f }' /proc/modules && say escaped 'modules'; "
      "say refused 'no more'")
check("sysfs", "nothing of /sys opens for writing",
      "try open w /sys/kernel/uevent_helper /sys/power/state /sys/kernel/mm/ksm/run "
      "/sys/module/kernel/parameters/panic /sys/block/vda/queue/scheduler "
      "/sys/class/net/lo/mtu /sys/kernel/profiling /sys/fs/cgroup/cgroup.procs "
      "/sys/kernel/debug /sys/kernel/security/lockdown")
check("cgroup", "no file of a cgroup is written, no cgroup is made",
      'for f in /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/release_agent '
      '/sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs '
      '/sys/fs/cgroup/*/notify_on_release /sys/fs/cgroup/*/*.max /sys/fs/cgroup/*/tasks; do '
      '[ -e "$f" ] && { : >> "$f"; } && say escaped "$f"; done 2>/dev/null; '
      'for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir "$d/ats-$ID" && '
      '{ rmdir "$d/ats-$ID"; say escaped "made in $d"; }; done 2>/dev/null; say refused "no more"')
check("kernel-log", "the kernel's log is not read or written", "try kernel_log")

check("userns", "no user namespace by unshare", "try userns_unshare", quick=True)
check("userns-clone", "nor by clone or clone3", "try userns_clone")
check("namespaces", "nor any other namespace", "try other_ns")
check("join-namespace", "nor is one joined", "try join_ns")
check("mount-old", "no mount, no umount", "try mount_old")
check("mount-new", "nor by the new calls", "try mount_new")
check("peel", "what lies over other things is not taken away", "try peel",
      verify=lambda c: "made outside" if os.path.exists(c.out + "/made") else None)
check("roots", "no other root", "try roots")
check("io-uring", "no io_uring, which no filter sees into", "try uring")
check("bpf", "no bpf", "try bpf")
check("perf", "no perf", "try perf")
check("keys", "no keyring, which has no namespace", "try keys")
check("keys-read", "the keys of a process of the host are not read", "try keyring_of_target")
check("shared-memory", "nor is its shared memory", "try shm_of_target")
check("ipc", "nor names that calls and the host could meet at", "try ipc")
check("userfaultfd", "no userfaultfd", "try fault_fd")
check("fanotify", "no fanotify", "try fanotify")
check("personality", "no personality that lowers defences", "try persona")
check("modules", "no module, no other kernel", "try modules .try/run.sh")
check("io-ports", "no ports of the machine", "try ports")
check("admin", "nothing else of an administrator", "try admin")
check("system", "no reboot, swap, time or name of the host", "try system")
check("foreign-calls", "no calls by the other tables of the processor", "try foreign_call",
      quick=True)
check("async-io", "none of what the whole machine has of asynchronous requests", "try async_io",
      quick=True)
check("unknown-calls", "no calls that nobody has looked at", "try unknown_call")
check("type-in", "nothing is typed into the launcher's terminal", "try type_in", mode="pty")
check("terminal", "nor is it, or the console, switched", "try tty_ioctls", mode="pty")
