# SPDX-License-Identifier: Apache-2.0
"""Processes of the host, and what leads to them: signals, memory, descriptors, /proc."""
from contain.base import check


def signalled(c):
    got = [x for x in c.got().splitlines() if x.startswith("signal")]
    return "the target got %s" % ", ".join(got) if got else None


def told(*words):
    def verify(c):
        got = c.got()
        bad = [w for w in words if w in got]
        return "the target got %s" % " ".join(bad) if bad else None
    return verify


def state(c):
    with open("/proc/%d/stat" % c.target.pid, encoding="utf-8") as f:
        return "stopped" if f.read().rsplit(") ", 1)[1][0] == "T" else None


check("signal", "no signal reaches a process of the host", "try signals", verify=signalled,
      quick=True)
check("signal-stop", "nor is one stopped", 'kill -STOP "$TARGET"; kill -STOP -- "-$TARGET"',
      verify=state)
check("signal-groups", "nor do signals to groups and to all reach one", "try signal_groups",
      verify=signalled)
check("signal-async", "the kernel does not send one for a tool", "try async_owner",
      verify=signalled)
check("signal-launcher", "what is above cannot be ended",
      'for p in $(above); do kill -9 "$p" && say escaped "killed $p"; done; say refused "no more"')
check("trace", "no process of the host is traced", "try trace")
check("memory-read", "its memory is not read", "try vm_read", quick=True)
check("memory-write", "nor written", "try vm_write")
check("memory-file", "nor reached through /proc", "try mem_file")
check("advise", "nor advised, compared or moved", "try advise_target")
check("environ", "its environment is not read", 'tr "\\0" "\\n" < "/proc/$TARGET/environ"')
check("cmdline", "it is not seen at all",
      '[ "$(cat /proc/$TARGET/comm)" = target ] && { say escaped "is in /proc"; '
      'tr "\\0" " " < /proc/$TARGET/cmdline; }; ps -e -o args= | grep "[t]arget.*$OUT" && '
      'say escaped "is in ps"; say refused "no more"')
check("descriptor-link", "its descriptors are not opened through /proc",
      'cat "/proc/$TARGET/fd/$SECRET_FD"; ls "/proc/$TARGET/fd" && say escaped "can be listed"; '
      'cat "/proc/$TARGET/task/$TARGET/fd/$SECRET_FD"; true')
check("descriptor-steal", "nor taken by pidfd_getfd", "try steal_fd")
check("limits", "its limits, priority and processors stay", "try limits_of_target")
check("classes", "and its classes of scheduling, I/O and memory", "try class_of_target")
check("above-environ", "the environment of the launcher is not read",
      'for p in $(above); do tr "\\0" "\\n" < "/proc/$p/environ"; done; true')
check("above-memory", "nor its memory or maps",
      'for p in $(above); do try open r "/proc/$p/mem" "/proc/$p/maps" "/proc/$p/pagemap" '
      '"/proc/$p/syscall" "/proc/$p/stack"; done; say refused "none above"')
check("above-descriptors", "nor its descriptors",
      'for p in $(above); do for f in /proc/$p/fd/*; do [ -e "$f" ] && '
      'say escaped "$f is there"; done; done; say refused "no other"')
check("above-program", "nor is its program written", "try exe_write $(above); "
      'say refused "none above"')
check("own-environ", "the launcher's environment does not come in",
      'env; tr "\\0" "\\n" < /proc/self/environ; declare -p')
check("leaked-file", "a file that leaks into the launcher is not there",
      "cat <&7; cat /proc/self/fd/7; echo evil >&7; cat /proc/$PPID/fd/7", mode="leak",
      verify=lambda c: None if c.secret in open(c.out + "/canary", encoding="utf-8").read()
      else "the canary was written")
check("leaked-directory", "nor is a directory",
      "cat /proc/self/fd/8/canary; cd /proc/self/fd/8 && cat canary; cat /proc/$PPID/fd/8/canary",
      mode="leak", quick=True)
check("leaked-socket", "nor a socket, for words or descriptors",
      "echo FORGED >&9; for i in $(ls /proc/self/fd); do [ -S /proc/self/fd/$i ] && "
      "eval \"echo FORGED >&$i\"; done; try leaked_socket", mode="leak", verify=told("FORGED"))
check("stdin", "the launcher's stdin is not the tool's",
      "read -r -t 1 line && echo $line; cat /proc/$PPID/fd/0; cat /dev/stdin", mode="stdin")
check("orphan", "what leaves its session and parent ends with the call", "try orphan",
      verify=lambda c: growing(c))
check("held-pipe", "a process in the background does not hold the call",
      "(trap '' HUP TERM; sleep 9) & setsid sleep 9 &",
      verify=lambda c: "held for %.1f s" % c.elapsed if c.elapsed > 6 else None)


def growing(c):
    """The beats of an orphan come every 50 ms."""
    import time
    first = len(c.read("beat"))
    time.sleep(0.3)
    more = len(c.read("beat"))
    return "%d beats after the call" % (more - first) if more > first else None
