#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages pass mandoc's lint and groff's; each program, the configuration and the protocol have one.
. tests/lint/lib.sh

for p in atsctl.1 libats.3 ats-brain.8 ats-engine.8 ats-gateway.8 ats-hands.8 ats-http.8 \
	ats-brain.json.5 ats-protocol.7; do
	test -f "docs/man/$p" || complain "docs/man/$p is missing"
done
test "$broken" -eq 0 || fix 'write the page'
for f in docs/man/*.[1-8]; do
	command -v mandoc >/dev/null || break
	out=$(mandoc -Tlint -W warning "$f" 2>&1 | grep -v 'referenced manual not found')
	test -z "$out" || complain "$out"
done
# man(1) of most systems is groff, which says what mandoc does not mind: a line that no width of a
# terminal suits.
for f in docs/man/*.[1-8]; do
	command -v groff >/dev/null || break
	out=$(groff -mdoc -Tutf8 -ww -rLL=78n "$f" 2>&1 >/dev/null)
	test -z "$out" || complain "$out"
done
fix 'change the page as mandoc or groff says; what cannot be broken is .Bd -literal'
