#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/gen is what the tables print today.
. tests/lint/lib.sh

test -x "$DUMP" || {
	echo 'DUMP is not set: run make lint'
	exit 1
}
for doc in $GEN; do
	"$DUMP" "$doc" | cmp -s - "docs/gen/$doc.md" || complain "docs/gen/$doc.md is stale"
done
for page in ${GENMAN:-}; do
	"$DUMP" "$page" | cmp -s - "docs/man/$page" || complain "docs/man/$page is stale"
done
"$DUMP" audit.schema | cmp -s - proto/schema/audit.json || complain "proto/schema/audit.json is stale"
"$DUMP" client.table | cmp -s - packaging/npm/lib/table.js ||
	complain "packaging/npm/lib/table.js is stale"
fix 'make docs'
