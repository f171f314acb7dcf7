#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make install honours DESTDIR and installs what packaging/manifest says."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def install(root, target="install"):
    r = subprocess.run(["make", "-s", "-C", ats.TOP, "-o", "all", target, "BUILD=" + ats.BUILD,
                        "DESTDIR=" + root, "PREFIX=/usr"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False)
    ats.equal(r.returncode, 0, r.stdout.decode("utf-8", "replace"))


@ats.test("make install fills DESTDIR as the manifest says")
def _(home):
    root = os.path.join(home.dir, "root")
    install(root)
    found = sorted(os.path.relpath(os.path.join(d, f), root)
                   for d, _, files in os.walk(root) for f in files)
    with open(os.path.join(ats.TOP, "packaging", "manifest"), encoding="utf-8") as f:
        wanted = sorted(line.strip() for line in f if line.strip() and line[0] != "#")
    ats.equal(found, wanted)
    install(root, "uninstall")
    ats.equal([f for _, _, files in os.walk(root) for f in files], [])


def dead_links(top, name):
    """Relative links of a document below top that lead nowhere: to no file, directory or heading."""
    with open(os.path.join(top, name), encoding="utf-8") as f:
        text = re.sub(r"(?ms)^```.*?^```", "", f.read())
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        to = os.path.normpath(os.path.join(top, os.path.dirname(name), path)) if path else \
            os.path.join(top, name)
        if not os.path.exists(to):
            dead.append((name, link))
        elif heading:
            with open(to, encoding="utf-8") as f:
                slugs = [re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-")
                         for h in re.findall(r"(?m)^#+ (.*)$", f.read())]
            if heading not in slugs:
                dead.append((name, link))
    return dead


def documents(top):
    return sorted(os.path.relpath(os.path.join(d, f), top) for d, _, files in os.walk(top)
                  for f in files if f.endswith(".md"))


@ats.test("no link of a document is dead, in the source or where it is installed")
def _(home):
    root = os.path.join(home.dir, "root")
    install(root)
    installed = os.path.join(root, "usr/share/doc/agent-tool-server")
    names = documents(installed)
    ats.check("docs/gen/log.md" in names and "README.md" in names, names)
    source = [n for n in (*names, "CONTRIBUTING.md", "packaging/npm/README.md",
                          "tests/mutants/README.md")]
    ats.equal(sum((dead_links(ats.TOP, n) for n in source), []), [])
    ats.equal(sum((dead_links(installed, n) for n in names), []), [])
    # Nothing there speaks of a file of the source as if it were at hand.
    for n in names:
        with open(os.path.join(installed, n), encoding="utf-8") as f:
            ats.missing(f.read(), "](../tests/")
    # Links are what is looked at.
    with open(os.path.join(installed, "docs/x.md"), "w", encoding="utf-8") as f:
        f.write("# A head\n[a](y.md) [b](#a-head) [c](#no) [d](../README.md#try-it) [e](gen)\n")
    ats.equal([x for _, x in dead_links(installed, "docs/x.md")], ["y.md", "#no"])


@ats.test("what was installed runs wherever it stands")
def _(home):
    root = os.path.join(home.dir, "root")
    install(root)
    ctl = os.path.join(root, "usr", "bin", "atsctl")
    p = home.popen(ctl, "exec", "--", "echo", "here", stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
    out, err = p.communicate(timeout=30)
    ats.equal((p.returncode, out), (0, b"here\n"), err)
    r = subprocess.run([ctl, "--json", "doctor"], env=home.env, stdout=subprocess.PIPE, check=False)
    ats.equal([d["state"] for d in json.loads(r.stdout)["dependencies"]][:3], ["on"] * 3)


@ats.test("a program is built and linked with what was installed, both ways, and runs")
def _(home):
    if not shutil.which("pkg-config"):
        ats.skip("no pkg-config")
    root = os.path.join(home.dir, "root")
    install(root)
    lib = os.path.join(root, "usr", "lib")
    env = {**os.environ, "PKG_CONFIG_LIBDIR": os.path.join(lib, "pkgconfig"),
           "PKG_CONFIG_SYSROOT_DIR": root, "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1",
           "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libats"], env=env, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split()
    source = os.path.join(home.dir, "p.c")
    with open(source, "w", encoding="ascii") as f:
        f.write('#include <ats.h>\n#include <stdio.h>\nint main(void) { ats_init(); '
                'printf("%d%d\\n", ats_serves("Bash"), ats_servable("Bash")); return 0; }\n')
    for i, more in enumerate((["-std=c11"], ["-std=c99", "-Wl,-Bstatic", "-lats", "-Wl,-Bdynamic"],
                              ["-x", "c++"])):
        program = os.path.join(home.dir, "p%d" % i)
        r = subprocess.run(["g++" if "c++" in more else "gcc", "-Wall", "-Wextra", "-Werror",
                            "-pedantic", *(more if "c++" in more else more[:1]), source,
                            *(["-x", "none"] if "c++" in more else []), "-o", program, *(
                                [*flags[:-1], *more[1:]] if "-lats" in more else flags)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        ats.equal(r.returncode, 0, r.stdout.decode())
        needed = subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, check=True)
        ats.equal(b"libats.so.0" in needed.stdout, "-lats" not in more)
        for url, said in ((None, b"10\n"), ("stdio", b"11\n")):
            e = {"LD_LIBRARY_PATH": lib, **({"REMOTE_TOOLS_URL": url} if url else {})}
            ats.equal(subprocess.run([program], env=e, stdout=subprocess.PIPE,
                                     check=True).stdout, said)


ats.main()
