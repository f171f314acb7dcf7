#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every shell script passes shellcheck.
. tests/lint/lib.sh

command -v shellcheck >/dev/null || {
	echo 'shellcheck is not installed: skipped'
	exit 0
}
# shellcheck disable=SC2013 # names here hold no blanks
for f in $(grep -lIE '^#!/bin/(sh|bash)|^# shellcheck shell' -r tests packaging .ci 2>/dev/null | sort); do
	out=$(shellcheck -x -f gcc "$f") || complain "$out"
done
fix 'change the line as shellcheck says, or disable that number with a reason on the line before'
