#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every Python file compiles.
. tests/lint/lib.sh

for f in $(find tests packaging -name '*.py' -type f | sort) tests/run; do
	out=$(python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$f" 2>&1) ||
		complain "$out"
done
fix 'mend the syntax'
