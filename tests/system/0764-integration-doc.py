#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that docs/INTEGRATION.md shows for agent runtimes are programs: they compile."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

# What the runtime of the text has.
NATIVE = """struct reply;
int run_native_tool(const char *name, const char *input, size_t n, struct reply *reply);
int run_native_hook(const char *event, const char *input, size_t n, struct reply *reply);
void tell_model(struct reply *reply, const char *text, int is_error);
void take_decision(struct reply *reply, const char *json, size_t n);
int start(const char *workspace, const char *plan_dir);
int run_tool(const char *name, const char *input, size_t n, struct reply *reply);
int run_hook(const char *event, const char *input, size_t n, struct reply *reply);
"""


def block(language):
    with open(os.path.join(ats.TOP, "docs", "INTEGRATION.md"), encoding="utf-8") as f:
        found = re.findall("^```%s\n(.*?)^```$" % language, f.read(), re.S | re.M)
    ats.equal(len(found), 1)
    return found[0]


@ats.test("in C")
def _(home):
    path = os.path.join(home.dir, "loop.c")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#include <stddef.h>\n" + NATIVE + block("c"))
    r = subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                        "-I" + os.path.join(ats.TOP, "brain", "client"), path],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    ats.equal(r.returncode, 0, r.stdout.decode())


@ats.test("in JavaScript")
def _(home):
    if not shutil.which("node"):
        ats.skip("no node")
    path = os.path.join(home.dir, "loop.mjs")
    with open(path, "w", encoding="utf-8") as f:
        f.write(block("js"))
    r = subprocess.run(["node", "--check", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       check=False)
    ats.equal(r.returncode, 0, r.stdout.decode())


ats.main()
