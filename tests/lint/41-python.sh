#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every Python file compiles.
. tests/lint/lib.sh

# shellcheck disable=SC2046
out=$(python3 -c '
import ast, sys
for name in sys.argv[1:]:
    try:
        ast.parse(open(name, encoding="utf-8").read(), name)
    except (SyntaxError, ValueError) as e:
        print("%s: %s" % (name, e))' $(find tests packaging -name '*.py' -type f | sort) tests/run 2>&1)
test -z "$out" || complain "$out"
fix 'mend the syntax'
