#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The npm package: what is in it, that it needs nothing else, its types, its own reading of bytes."""
import functools
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

PACKAGE = os.path.join(ats.TOP, "packaging", "npm")
LIB = os.path.join(ats.TOP, "tests", "lib")
TYPESCRIPT = "typescript@5.6.3"
FILES = ["LICENSE", "README.md", "index.d.ts", "index.js", "lib/answer.js", "lib/ctx.js",
         "lib/error.js", "lib/json.js", "lib/opener.js", "lib/plan.js", "lib/servable.js",
         "lib/session.js", "lib/table.js", "package.json"]


def need(program):
    if not shutil.which(program):
        ats.skip("no " + program)


def run(*argv, **kw):
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                       timeout=120, **kw)
    ats.equal(r.returncode, 0, (r.stdout + r.stderr).decode())
    return r.stdout.decode()


@functools.lru_cache(maxsize=1)
def archive():
    run("make", "-s", "-C", ats.TOP, "npm", "BUILD=" + ats.BUILD)
    with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as f:
        version = json.load(f)["version"]
    return os.path.join(ats.BUILD, "agent-tool-server-%s.tgz" % version)


def packed(home):
    """The folder of a program that has installed the package, from the archive that is published."""
    need("npm")
    into = os.path.join(home.dir, "app", "node_modules", "agent-tool-server")
    os.makedirs(into)
    run("tar", "-xzf", archive(), "-C", into, "--strip-components=1")
    return os.path.join(home.dir, "app")


@ats.test("what is packed: these files, no dependency, no script, the version of the project")
def _(home):
    app = packed(home)
    into = os.path.join(app, "node_modules", "agent-tool-server")
    found = sorted(os.path.relpath(os.path.join(d, f), into)
                   for d, _, files in os.walk(into) for f in files)
    ats.equal(found, FILES)
    with open(os.path.join(into, "package.json"), encoding="utf-8") as f:
        p = json.load(f)
    ats.equal({k for k in p if "ependenc" in k or k in ("scripts", "bin", "gypfile")}, set())
    version = run("make", "-s", "-C", ats.TOP, "--eval", "v: ; @echo $(VERSION)", "v").strip()
    ats.equal(p["version"], version)
    for name in found:
        if name.endswith(".js"):
            with open(os.path.join(into, name), encoding="utf-8") as f:
                lines = [line for line in f if line.startswith("import ")]
            ats.check(all("'node:" in line or "'./" in line for line in lines), name)


@ats.test("as a program imports it: the names of its types, and nothing runs by it")
def _(home):
    need("node")
    app = packed(home)
    out = run("node", "--input-type=module", "-e",
              "import * as m from 'agent-tool-server'; console.log(Object.keys(m).sort().join())",
              cwd=app)
    ats.equal(out.strip(), "AtsError,Ctx,Session,ats_init,ats_servable,ats_serves,isOn")


@functools.lru_cache(maxsize=1)
def typescript():
    r = subprocess.run([os.path.join(LIB, "npm-install"), TYPESCRIPT], stdout=subprocess.PIPE,
                       check=False, env={**os.environ, "ATS_BUILD": ats.BUILD})
    return r.returncode, r.stdout.decode().strip()


@ats.test("its types compile, strictly, and refuse what is wrong", long=ats.WHOLLY)
def _(home):
    need("node")
    code, folder = typescript()
    if code == 77:
        ats.skip(folder)
    ats.equal(code, 0, folder)
    app = packed(home)
    shutil.copy(os.path.join(LIB, "client_types.ts"), os.path.join(app, "use.mts"))
    run("node", os.path.join(folder, "node_modules", "typescript", "bin", "tsc"), "--strict", "--noEmit",
        "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022",
        "--module", "nodenext", "--lib", "es2022,dom", "use.mts", cwd=app)


@ats.test("JSON, answers and paths, as the C library reads them")
def _(home):
    need("node")
    os.makedirs(os.path.join(home.dir, "plans"))
    ats.equal(run("node", os.path.join(LIB, "client_unit.mjs"), PACKAGE, os.path.realpath(home.dir)), "")


ats.main()
