#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Only a few files start processes.
. tests/lint/lib.sh

may='common/child(_tree)?\.c|brain/vault/(main|spawner|dialer|keeper)[a-z_]*\.c|hands/init/[a-z_]*\.c'
# hands/confine/ns.c: a moment's child that holds a user namespace for an idmapped mount
may="$may|hands/confine/ns\.c|hands/worker/(zygote|monitor|shell)[a-z_]*\.c|hands/main\.c"
calls='[^A-Za-z0-9_>.](fork|vfork|clone|clone3|execve?|execvp?e?|execl[pe]?|execveat|fexecve|posix_spawnp?|system|popen)[[:space:]]*\('
numbers='(SYS|__NR)_(fork|vfork|clone3?|execve(at)?)[^a-z0-9_]'
# shellcheck disable=SC2046 # names here hold no blanks
lines=$(in_code exec "$calls|$numbers" $(c_files common proto brain hands) |
	grep -vE "^($may):")
test -z "$lines" || complain "$lines"
fix 'order the process from the spawner (host) or from init (sandbox); common/child starts it'
