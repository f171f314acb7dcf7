#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX line, white space, width, final newline, and nothing about the machine it was made on.
. tests/lint/lib.sh

sources() {
	find common proto brain hands tests packaging .ci Makefile -type f \( \
		-name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.py' -o -name '*.mk' \
		-o -name Makefile -o -name run -o -name check -o -name quickstart -o -name '*.conf' \
		-o -name '*.service' -o -name '*.socket' -o -name 'Containerfile*' \) 2>/dev/null | sort
}
# shellcheck disable=SC2046
lines=$(python3 -c '
import sys
for name in sys.argv[1:]:
    with open(name, "rb") as f:
        data = f.read()
    if not any(b"SPDX-License-Identifier: Apache-2.0" in line for line in data.split(b"\n", 3)[:3]):
        print(name + ": no SPDX-License-Identifier in its first three lines")
    if not data.endswith(b"\n"):
        print(name + ": no newline at the end")' $(sources))
test -z "$lines" || complain "$lines"
# shellcheck disable=SC2046
lines=$(grep -nE '[[:space:]]+$' $(sources) | head -n 20)
test -z "$lines" || complain "white space at the end of a line:
$lines"
# width MAX FILE...: lines that are longer, with tabs of 8
width() {
	max=$1
	shift
	awk -v max="$max" '
		length($0) > max || /\t/ {
			n = split($0, part, "\t")
			columns = length(part[1])
			for (i = 2; i <= n; i++)
				columns += 8 - columns % 8 + length(part[i])
			if (columns > max && !/lint: allow width/)
				print FILENAME ":" FNR ": " columns " columns"
		}' "$@"
}
# shellcheck disable=SC2046
lines=$(width 100 $(sources | grep -E '\.[ch]$'))
test -z "$lines" || complain "$lines"
# Rows of tables stay on one line where that reads better.
# shellcheck disable=SC2046
lines=$(width 120 $(sources | grep -E '\.(def|sh|py)$' | grep -v '^tests/lint/'))
test -z "$lines" || complain "$lines"
# shellcheck disable=SC2046
lines=$(grep -nE '(^|[^A-Za-z0-9_.])/(work|root)/|\.\./shared' $(sources | grep -v '^tests/lint/') \
	README.md docs/*.md docs/man/* 2>/dev/null | head -n 20)
test -z "$lines" || complain "a path of some machine:
$lines"
# shellcheck disable=SC2046
wc -l $(sources | grep -E '\.c$') | awk '$1 > 600 && $2 != "total" {
	print $2 " has " $1 " lines: is it one subject?" }'
fix 'add the line, cut the white space, break the line at 90 columns, 100 at most (tabs are 8)'
