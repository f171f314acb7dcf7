#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each header compiles by itself, twice, and has its guard.
. tests/lint/lib.sh

headers=$(c_files common proto brain hands tests/lib | grep '\.h$' | grep -vx 'proto/dump_config\.h')
# shellcheck disable=SC2016 # the inner shell's own
out=$(printf '%s\n' "$headers" | xargs -P "$(nproc 2>/dev/null || echo 2)" -n 1 sh -c '
	said=$(printf "#include \"%s\"\n#include \"%s\"\nint lint_unused;\n" "$2" "$2" |
		"$1" -std=gnu17 -D_GNU_SOURCE -I. -Wall -Wextra -Wno-unused -Werror \
			-fsyntax-only -x c - 2>&1) || printf "%s:\n%s\n" "$2" "$said"' header "$CC")
test -z "$out" || complain "$out"
# shellcheck disable=SC2086
out=$(grep -L '^#ifndef [A-Z0-9_]*_H$' $headers)
test -z "$out" || complain "no guard #ifndef FOLDER_FILE_H:
$out"
fix 'include what the header uses, or forward-declare the struct'
