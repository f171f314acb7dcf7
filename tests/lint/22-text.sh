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
for f in $(sources); do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
		complain "$f: no SPDX-License-Identifier in its first three lines"
	test -z "$(tail -c 1 "$f")" || complain "$f: no newline at the end"
done
# shellcheck disable=SC2046
lines=$(grep -nE '[[:space:]]+$' $(sources) | head -n 20)
test -z "$lines" || complain "white space at the end of a line:
$lines"
# width MAX FILE...: lines that are longer, with tabs of 8
width() {
	max=$1
	shift
	for f; do
		expand "$f" | awk -v f="$f" -v max="$max" '
			length($0) > max && !/lint: allow width/ { print f ":" NR ": " length($0) " columns" }'
	done
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
for f in $(sources | grep -E '\.c$'); do
	n=$(wc -l <"$f")
	test "$n" -le 600 || echo "$f has $n lines: is it one subject?"
done
fix 'add the line, cut the white space, break the line at 90 columns, 100 at most (tabs are 8)'
