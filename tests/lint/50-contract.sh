#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every statement about the tools (docs/TOOLS.md) has a test that exists (tests/contract.tsv), and
# what is broken on purpose (tests/mutants) fits the sources, statements and tests.
. tests/lint/lib.sh

out=$(awk -F'\t' '
	FILENAME == "docs/TOOLS.md" {
		if (split($0, c, " *[|] *") > 3 && c[2] ~ /^[a-z0-9]+\.[a-z0-9-]+$/) {
			if (c[2] in says) print FILENAME ":" FNR ": " c[2] " is there twice"
			says[c[2]] = FNR
			ours[c[2]] = c[4] == "rule"
		}
		next
	}
	FILENAME ~ /[.]mut$/ {
		if ($0 !~ /^@ /) next
		n = split(substr($0, 3), c, " ")
		for (i = 1; i <= n; i++) {
			if (!(c[i] in says)) print FILENAME ":" FNR ": no statement " c[i]
			broken[c[i]] = 1
		}
		next
	}
	/^#/ || /^$/ { next }
	NF != 3 { print FILENAME ":" FNR ": not id, file, test"; next }
	!($1 in says) { print FILENAME ":" FNR ": no statement " $1 " in docs/TOOLS.md"; next }
	{
		held[$1] = 1
		if (!($2 in text)) {
			text[$2] = ""
			while ((getline line < $2) > 0) text[$2] = text[$2] line "\n"
			close($2)
		}
		want = $2 ~ /[.]c$/ ? "START_TEST(" $3 ")" : $3
		gsub(/"/, "\\\"", want)
		if (index(text[$2], want) == 0) print FILENAME ":" FNR ": " $2 " has no test " $3
	}
	END {
		for (id in says)
			if (!(id in held)) print "docs/TOOLS.md:" says[id] ": " id " has no test"
	}' docs/TOOLS.md tests/mutants/*.mut tests/contract.tsv)
test -z "$out" || complain "$out"
out=$(tests/mutants/run --check) || complain "$out"
fix 'name the test in tests/contract.tsv; a mutant (tests/mutants) has the lines as they are now'
