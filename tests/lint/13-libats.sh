#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libats gives the names of its header, all of them and no other: the version script, the shared
# library and the static one.
. tests/lint/lib.sh

# Functions and the variable, without types and what is inline.
header=$(code brain/client/ats.h | sed 's/^[^:]*:[0-9]*://' | tr '\n' ' ' |
	sed -E 's/static inline[^}]*\}//g; s/typedef[^;]*;//g; s/struct ats_[a-z_]*;//g' |
	grep -oE '[^A-Za-z0-9_]ats_[a-z_]+[(;]' | tr -d ' *(;' | sort -u)
same() {
	test "$2" = "$header" || complain "$1 differs from brain/client/ats.h:
$(printf '%s\n%s\n' "$header" "$2" | sort | uniq -u)"
}
same brain/client/libats.map "$(sed -n 's/^\t\(ats_[a-z_]*\);$/\1/p' brain/client/libats.map | sort)"
for lib in "$BUILD"/libats.so "$BUILD"/libats.a; do
	test -e "$lib" || complain "$lib is missing: run make first"
	flag=$(test "${lib##*.}" = so && echo -D)
	# shellcheck disable=SC2086 # one flag or none
	names=$(nm $flag -g --defined-only "$lib" 2>/dev/null |
		sed -n 's/^[0-9a-f]* [TDBRVW] \([^@]*\).*/\1/p' | sort)
	same "$lib" "$names"
done
# An application's SIGPIPE, its exit and its handlers are its own.
bad=$(nm -D --undefined-only "$BUILD"/libats.so | grep -E ' (exit|atexit|sigaction|pthread_[a-z_]*|system|popen)(@|$)')
test -z "$bad" || complain "$BUILD/libats.so uses what a library leaves to the program:
$bad"
fix 'give a new name to the header, to brain/client/libats.map and to libats(3), or make it static'
