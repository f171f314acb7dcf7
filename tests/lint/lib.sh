# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For the rules: lists of files and the way to complain.

broken=0

# complain WHERE-AND-WHAT, once for each finding
complain() {
	printf '%s\n' "$1"
	broken=1
}

# fix TEXT: ends the rule; the text is printed when something was found
fix() {
	if [ "$broken" -ne 0 ]; then
		printf 'fix: %s\n' "$1"
		exit 1
	fi
	exit 0
}

# c_files DIR...: the .c and .h files below
c_files() {
	find "$@" -name '*.[ch]' -type f 2>/dev/null | sort
}

# found RULE PATTERN FILE...: lines that match an extended regex, without allowed ones
found() {
	rule=$1
	pattern=$2
	shift 2
	test $# -gt 0 || return 0
	grep -nHE -- "$pattern" "$@" 2>/dev/null | grep -v "lint: allow $rule"
}

# code FILE...: "file:line:text" without comments and with empty string literals
code() {
	test $# -gt 0 || return 0
	awk '
		FNR == 1 { inside = 0 }
		{
			raw = $0
			gsub(/"([^"\\]|\\.)*"/, "\"\"")
			gsub(/\/\*([^*]|\*[^\/])*\*\//, "")
			if (inside) {
				if (!sub(/^.*\*\//, "")) next
				inside = 0
			}
			if (sub(/\/\*.*$/, "")) inside = 1
			if (raw ~ /lint: allow/) $0 = $0 " /* " substr(raw, index(raw, "lint: allow"))
			print FILENAME ":" FNR ":" $0
		}' "$@"
}

# in_code RULE PATTERN FILE...: like found, over code
in_code() {
	rule=$1
	pattern=$2
	shift 2
	code "$@" | grep -E -- "^[^:]*:[0-9]*:.*($pattern)" | grep -v "lint: allow $rule"
}
