#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Arrows run from a process to a library, never back and never from process to process. Headers are
# in an order that two changes seldom collide in.
. tests/lint/lib.sh

# allowed DIR REGEX: what the files of DIR may include of the project
allowed() {
	dir=$1
	regex=$2
	test -d "$dir" || return 0
	# shellcheck disable=SC2046 # names here hold no blanks
	lines=$(found includes '^#[[:space:]]*include "' $(c_files "$dir") |
		grep -vE "include \"($regex)")
	test -z "$lines" || complain "$lines"
}

# private HEADER-REGEX FILE-REGEX: a system header that only some files may include
private() {
	# shellcheck disable=SC2046
	lines=$(found includes "^#[[:space:]]*include <($1)" $(c_files common proto brain hands) |
		grep -vE "^($2):")
	test -z "$lines" || complain "$lines"
}

allowed common 'common/|proto/errors\.def'
allowed proto 'common/|proto/|brain/([a-z]+/)?[a-z]*\.def'
allowed brain/policy 'common/|proto/|brain/policy/'
allowed brain/vault 'common/|proto/|brain/vault/|brain/policy/|brain/[a-z]*\.(def|h)'
allowed brain/engine 'common/|proto/|brain/engine/|brain/policy/|brain/[a-z]*\.(def|h)'
allowed brain/http 'common/|proto/|brain/http/'
allowed brain/gateway 'common/|proto/|brain/gateway/'
allowed brain/client 'common/|proto/|brain/client/'
allowed brain/ctl 'common/|proto/|brain/ctl/|brain/[a-z]*\.(def|h)'
allowed hands 'common/|proto/|hands/'

private 'event2?[./]' 'common/(acceptor|chan|stream|dial)[a-z_]*\.[ch]|brain/(engine|vault|http|gateway)/[a-z_]*\.[ch]|hands/(front|shim)/[a-z_]*\.[ch]'
private 'json-c/|json\.h' 'common/(json|conf)[a-z_]*\.c'
private 'seccomp\.h|sys/capability\.h|linux/seccomp\.h|linux/landlock\.h' '(common|hands)/confine/[a-z_]*\.[ch]'
private 'curl/' 'brain/gateway/fetch[a-z_]*\.[ch]'
private 'sqlite3\.h' 'brain/engine/store[a-z_]*\.[ch]'
private 'pcre2\.h' '(hands/(match|shell|tools)/[a-z_]*|proto/hook_match)\.[ch]'
private 'openssl/' 'common/(digest|tls|wire_tls)[a-z_]*\.c'
private 'check\.h' 'none'

# In each block of the project's headers: sorted, behind the file's own.
# shellcheck disable=SC2046
lines=$(awk '
	/^#include "/ && !/\.def"/ {
		own = "#include \"" substr(FILENAME, 1, length(FILENAME) - 1) "h\""
		if (before != "" && before != own && before > $0)
			print FILENAME ":" FNR ": " $0 " stands behind " substr(before, 10)
		before = $0
		next
	}
	{ before = "" }' $(c_files common proto brain hands tests))
test -z "$lines" || complain "$lines"

fix 'sort the includes, or move the code to the folder that may do this (docs/ARCHITECTURE.md, Folders), or pass what you need as a parameter'
