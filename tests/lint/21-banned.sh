#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions that cannot be used safely here, and forms that the style leaves out.
. tests/lint/lib.sh

files=$(c_files common proto brain hands)
banned='strcpy|strcat|stpcpy|sprintf|vsprintf|strtok|gets|system|popen|rand|srand|random'
banned="$banned|atoi|atol|atoll|atof|tmpnam|tempnam|mktemp|alloca|strdupa|bcopy|bzero"
banned="$banned|sleep|usleep|setenv|putenv|getwd|gmtime|localtime|ctime|asctime"
# shellcheck disable=SC2086 # names here hold no blanks
lines=$(in_code banned "[^A-Za-z0-9_>.]($banned)[[:space:]]*\(" $files)
test -z "$lines" || complain "$lines"
# shellcheck disable=SC2086
lines=$(in_code comment '//' $files)
test -z "$lines" || complain "$lines"
# shellcheck disable=SC2086
lines=$(in_code typedef 'typedef (struct|enum|union)' $files)
test -z "$lines" || complain "$lines"
# An early return frees what was never filled: cleanup variables start with a value.
# shellcheck disable=SC2086
lines=$(in_code cleanup 'ATS_CLEANUP_[A-Z]+' $files |
	grep -vE '#define|=|[(]|^[^:]*\.h:' | grep -E ';')
test -z "$lines" || complain "not initialised where it is declared:
$lines"
# One form of a call's id in the logs of all processes, or they cannot be held beside each other.
# shellcheck disable=SC2086
lines=$(in_code log '"[^"]*call=%' $files)
test -z "$lines" || complain "not call=c-%...:
$lines"
fix 'snprintf or ats_buf for text, strtoull with checks for numbers, getrandom for chance, timers of the loop for waiting, /* */ for comments, struct tags for types'
