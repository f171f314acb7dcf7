# SPDX-License-Identifier: Apache-2.0
"""No call takes more than its share (limits=check), or longer than its time."""
from contain.base import check

check("threads", "threads are bounded", "try threads", quick=True)
check("processes", "processes are bounded", "try processes")
check("fork-bomb", "a fork bomb ends with its call",
      "f() { f | f & }; f 2>/dev/null; sleep 1",
      verify=lambda c: "took %.1f s" % c.elapsed if c.elapsed > 10 else None)
check("memory", "memory of one process is bounded", "try memory")
check("memory-shared", "shared memory too", "try memory_shared")
check("memory-file", "files in memory too", "try memory_files")
check("memory-many", "several processes together too", "try memory_many")
check("locked", "little memory is locked", "try locked")
check("descriptors", "open files are bounded", "try descriptors")
check("tmp-fill", "/tmp, /dev/shm and home hold little in memory",
      'for d in /tmp /dev/shm /run /var/tmp "$HOME" "$TMPDIR"; do '
      '[ "$(stat -f -c %T "$d")" = tmpfs ] || continue; '
      'head -c 600M /dev/zero > "$d/fill-$ID" && say escaped "600 MB in $d"; '
      'rm -f "$d/fill-$ID"; done 2>/dev/null; say refused "no more"')
check("file-size", "one file is bounded",
      "head -c 600M /dev/zero > big && say escaped '600 MB in a file'; "
      "say refused \"$(stat -c %s big) bytes\"; rm -f big; truncate -s 600M sparse && "
      "say escaped 'a sparse file of 600 MB'; rm -f sparse")
check("files-sum", "all files of a call together are bounded",
      "for i in 1 2 3 4; do head -c 300M /dev/zero > big$i || break; done; "
      "[ $(du -sm . | cut -f1) -gt 1100 ] && say escaped \"$(du -sm . | cut -f1) MB\"; "
      "say refused 'no more'; rm -f big*")
check("files-many", "and their number in memory",
      'mkdir -p /tmp/n-$ID && cd /tmp/n-$ID && [ "$(stat -f -c %T .)" = tmpfs ] && '
      '{ seq 400000 | xargs touch && say escaped "400000 files in memory"; }; '
      'say refused "bounded, or on a disk"; cd /; rm -rf /tmp/n-$ID')
check("output", "output is bounded", "head -c 64M /dev/zero | tr '\\0' A",
      verify=lambda c: "%d bytes came out" % c.bytes if c.bytes > 32 << 20 else None)
check("fifo", "a FIFO without a writer does not hang the call for long", "mkfifo f; cat f",
      seconds=2,
      verify=lambda c: "hung for %.1f s" % c.elapsed if c.elapsed > 8 else None)
check("endless", "what never ends is ended, and all that it started", seconds=2,
      attack="trap '' TERM HUP INT; (trap '' TERM; while :; do :; done) & while :; do :; done",
      verify=lambda c: "ran for %.1f s" % c.elapsed if c.elapsed > 8 else None)
