#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What clang-format would change. Advisory: tables and aligned comments are laid out by hand.
# With file names, only those.
set -u
command -v clang-format >/dev/null || {
	echo 'clang-format is not installed'
	exit 0
}
# shellcheck disable=SC2046 # names here hold no blanks
test $# -gt 0 || set -- $(find common proto brain hands -name '*.[ch]' -type f | sort)
n=0
for f; do
	clang-format --style=file "$f" | cmp -s - "$f" || {
		n=$((n + 1))
		echo "$f"
	}
done
echo "$n of $# files differ from clang-format's idea (advisory)"
