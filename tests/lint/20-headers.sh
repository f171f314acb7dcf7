#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each header compiles by itself, twice, and has its guard.
. tests/lint/lib.sh

for h in $(c_files common proto brain hands tests/lib | grep '\.h$'); do
	case $h in
	proto/dump_config.h) continue ;;
	esac
	if ! out=$(printf '#include "%s"\n#include "%s"\nint lint_unused;\n' "$h" "$h" |
		"$CC" -std=gnu17 -D_GNU_SOURCE -I. -Wall -Wextra -Wno-unused -Werror \
			-fsyntax-only -x c - 2>&1); then
		complain "$h:
$out"
	fi
	grep -q '^#ifndef [A-Z0-9_]*_H$' "$h" || complain "$h: no guard #ifndef FOLDER_FILE_H"
done
fix 'include what the header uses, or forward-declare the struct'
