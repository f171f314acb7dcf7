#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the documents name is there: links, files, targets of make, commands, options, keys of the
# configuration, variables, manuals; their examples of brain.json are taken by atsctl config check;
# and the version is one.
. tests/lint/lib.sh

out=$(BUILD=$BUILD python3 tests/lint/docs.py 2>&1) || complain 'docs.py failed'
test -z "$out" || complain "$out"
fix 'say what is so now, in the document or the program'
