#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# AppArmor's own parser takes the profile, without a kernel that has AppArmor. The rule "userns" is
# known to version 4; an older one (Debian 12) reads the rest.
. tests/lint/lib.sh

parser=$(PATH=$PATH:/usr/sbin:/sbin command -v apparmor_parser) || {
	echo 'not looked at: no apparmor_parser (package apparmor)'
	exit 0
}
abi=4.0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cp packaging/apparmor/ats-hands "$tmp/profile"
if [ ! -e /etc/apparmor.d/abi/$abi ]; then
	abi=3.0
	echo "without the rule userns: $("$parser" --version | head -n 1)"
	sed '/^[[:space:]]*userns,$/d; s|<abi/4.0>|<abi/3.0>|' packaging/apparmor/ats-hands > "$tmp/profile"
	cmp -s packaging/apparmor/ats-hands "$tmp/profile" &&
		complain 'packaging/apparmor/ats-hands: no line "userns,", which it is there for'
fi

# compile FILE: -Q loads nothing into the kernel, -K makes no file of a cache
compile() {
	"$parser" -Q -K "$1" 2>&1 | grep -v '^Cache read/write disabled'
	"$parser" -Q -K "$1" > /dev/null 2>&1
}

if ! out=$(compile "$tmp/profile") || test -n "$out"; then
	complain "packaging/apparmor/ats-hands: ${out:-it is not taken}"
fi
# One that takes anything says nothing about ours.
sed '$d' "$tmp/profile" > "$tmp/cut"
compile "$tmp/cut" > /dev/null && complain "$parser takes a profile without its end"
fix 'change the profile as the parser says; apparmor.d(5) has its rules'
