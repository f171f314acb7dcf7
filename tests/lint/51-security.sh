#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/SECURITY.md explains what the containment checks let pass (residues.tsv), with the levels
# where they do and the gap that tells of it, and nothing else; and it explains each gap of the
# report (vector.c), as ats-hands(8) does.
. tests/lint/lib.sh

out=$(awk '
	# The words in backquotes of a cell, as keys.
	function words(cell, set, n, i, w) {
		delete set
		n = split(cell, w, "`")
		for (i = 2; i <= n; i += 2) set[w[i]] = 1
	}
	function say(what) { print where ": " what }
	{ where = FILENAME ":" FNR }
	FILENAME ~ /vector[.]c$/ {
		while (match($0, /[{] "[a-z-]+",/)) {
			gap[substr($0, RSTART + 3, RLENGTH - 5)] = 1
			$0 = substr($0, RSTART + RLENGTH)
		}
		next
	}
	FILENAME ~ /[.]8$/ {
		if (/^[.]It Cm /) man[$3] = 1
		next
	}
	FILENAME ~ /[.]md$/ {
		if (split($0, c, " *[|] *") < 4) { table = ""; next }
		if (c[2] == "check" || c[2] == "gap") { table = c[2]; next }
		if (table == "gap") words(c[2], some)
		else if (table == "check") words(c[4], some)
		else next
		for (g in some) {
			told[g] = 1
			if (!(g in gap)) say("no report names the gap " g)
		}
		if (table == "gap") next
		words(c[2], checks)
		for (k in checks) {
			at[k] = c[3]
			gaps[k] = c[4]
			line[k] = where
		}
		next
	}
	/^#/ || /^$/ { next }
	{
		split($0, c, "\t")
		if (c[2] == "at most") next
		k = c[2]
		if (!(k in at)) { say(k " is not in docs/SECURITY.md"); next }
		known[k] = 1
		if (c[3] != "residue" && !index(gaps[k], "`" c[3] "`"))
			say(k ": docs/SECURITY.md does not name the gap " c[3])
		view = c[1] ~ /(^| )(root|user)( |$)/
		uid = c[1] ~ /image-root/
		alone = c[1] ~ /image-user/
		words(at[k], levels)
		if (view) wrong = at[k] == "" || at[k] ~ /`(uid|landlock)/
		else wrong = ("uid+landlock" in levels) != uid || ("landlock" in levels) != alone
		if (wrong || "namespaces" in levels)
			say(k ": docs/SECURITY.md has it in other situations: " at[k])
	}
	END {
		for (k in at) if (!(k in known)) print line[k] ": no residue " k
		for (g in gap) {
			if (!(g in told)) print "docs/SECURITY.md: no gap " g
			if (!(g in man)) print "docs/man/ats-hands.8: no gap " g
		}
	}' hands/confine/vector.c docs/man/ats-hands.8 docs/SECURITY.md tests/sandbox/contain/residues.tsv) || complain 'awk failed'
test -z "$out" || complain "$out"
fix 'docs/SECURITY.md tells of each residue and gap what it means, and where it is'
