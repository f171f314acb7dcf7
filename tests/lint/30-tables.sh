#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every row of a table says what it is for.
. tests/lint/lib.sh

for f in $(find proto brain hands common -name '*.def' | sort); do
	out=$(awk -v f="$f" '
		/^[A-Z_]+\(/ { row = $0; start = NR; while (row !~ /\)[[:space:]]*$/ && (getline line) > 0) row = row line
			if (row ~ /^(END|ALIAS)\(/) next
			if (row ~ /,[[:space:]]*""\)[[:space:]]*$/) print f ":" start ": row without a text" }' "$f")
	test -z "$out" || complain "$out"
	head -n 12 "$f" | grep -qi 'column' || head -n 12 "$f" | grep -q 'as in' ||
		head -n 20 "$f" | grep -q '/\*' || complain "$f: no legend of its columns"
done
fix 'write what the row means; it is printed in docs/gen'
