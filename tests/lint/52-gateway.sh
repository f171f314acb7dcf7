#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is promised of gateways has tests that exist (tests/gateway.tsv).
. tests/lint/lib.sh

out=$(awk -F'\t' '
	/^#/ || /^$/ { next }
	NF != 3 { print FILENAME ":" FNR ": not statement, file, test"; next }
	{
		if (!($2 in text)) {
			text[$2] = ""
			while ((getline line < $2) > 0) text[$2] = text[$2] line "\n"
			close($2)
		}
		want = $2 ~ /[.]c$/ ? "START_TEST(" $3 ")" : $3
		if (index(text[$2], want) == 0) print FILENAME ":" FNR ": " $2 " has no test " $3
	}' tests/gateway.tsv)
test -z "$out" || complain "$out"
fix 'name the test in tests/gateway.tsv as it is called now'
