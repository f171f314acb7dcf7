#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Containerfile.debian on Debian 13 itself: built and run by the lines of README.md, and used by a
brain. FROM finds an image that is made of a fresh root of Debian, as there is no registry here;
what a registry's image has besides (its labels) is not looked at."""
import json
import os
import re
import shutil
import subprocess
import sys

import debian_root
from debian_root import ats

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sandbox"))
from pod import engine

with open(os.path.join(ats.TOP, "README.md"), encoding="utf-8") as f:
    README = f.read()
_ready = []


def line(begin):
    """The one line of README.md that begins so, as it stands there."""
    (found,) = re.findall(r"(?m)^ {4}(%s.*)$" % re.escape(begin), README)
    return found


def shell(home, words, code=0, **env):
    """A line of a document, where the source lies and podman is the test's own."""
    r = subprocess.run(["sh", "-c", words], cwd=home.dir, stdin=subprocess.DEVNULL,
                       env={**home.env, "PATH": "%s:%s" % (os.path.dirname(engine().command()),
                                                           os.environ["PATH"]), **env},
                       capture_output=True, text=True, timeout=300, check=False)
    ats.equal(r.returncode, code, (words, r.stdout, r.stderr))
    return r.stdout


def built(home):
    """The image "tools", by the first line of the section; made once."""
    e = engine()
    if not _ready:
        with open(os.path.join(ats.TOP, "packaging/container/Containerfile.debian"),
                  encoding="utf-8") as f:
            (name,) = re.findall(r"(?m)^FROM (\S+)$", f.read())
        ats.equal(name, "docker.io/library/debian:13")
        e.load(debian_root.made("debian-13", "trixie", (), "ATS_DEBIAN13_ROOT"), name)
    os.mkdir(home.dir + "/build")
    shutil.copy(ats.program("ats-hands"), home.dir + "/build")
    os.symlink(ats.TOP + "/packaging", home.dir + "/packaging")
    if not _ready:
        shell(home, line("podman build -f packaging/container/Containerfile.debian"))
        _ready.append(True)
    return e


@ats.test("it is built as README.md says, is a Debian, and says what confines there")
def _(home):
    built(home)
    ats.matches(shell(home, "podman run --rm --entrypoint cat tools "
                      "/etc/debian_version"), r"^13\.")
    said = json.loads(shell(home, line("podman run --rm --network none tools --probe"), code=1))
    ats.equal(said["level"], "uid+landlock")
    # As a user there is less than it asks for, and it says so.
    shell(home, "podman run --rm --user 1000 -v ./build:/workspace tools", code=125)


@ats.test("beside a command it ends with that command's exit code")
def _(home):
    built(home)
    words = "%s; %s" % (line("mkdir sockets"), line("podman run --network none").replace(
        "tools -- CMD", "tools -- sh -c 'exit 7'"))
    os.chmod(home.dir, 0o755)
    shell(home, words, code=7)


@ats.test("a brain reaches it as the next section says: Debian's tools, in a sandbox")
def _(home):
    built(home)
    here = home.dir + "/project"
    os.mkdir(here)
    shell(home, "cd project && " + line("podman run -d --name NAME"))
    try:
        (text,) = re.findall(r'(?ms)^```json\n(\{ "sandbox": \{ "url": "exec:pod" \}.*?)^```', README)
        home.configure(text.replace("/usr/bin/podman", engine().command()))
        home.ctl("config", "check", code=0)
        with open(here + "/file", "w", encoding="ascii") as f:
            f.write("of the host\n")
        ats.contains(README, "\n    atsctl exec --workspace /workspace -- ls\n")
        r = home.ctl("exec", "--workspace", "/workspace", "--", "ls", code=0, timeout=60)
        ats.equal(r.stdout, b"file\n")

        def sh(command, code=0):
            return home.ctl("exec", "--workspace", "/workspace", "--", "bash", "-c", command,
                            code=code, timeout=60).stdout.decode()
        ats.matches(sh(". /etc/os-release; echo $ID $VERSION_ID; apt-get --version"),
                    r"^debian 13\napt 3\.")
        ats.check(sh("id -u").strip() != "0", "a tool is root")
        sh("echo made > made")
        with open(here + "/made", encoding="ascii") as f:
            ats.equal(f.read(), "made\n")
        for command in ("echo x >> /etc/passwd", "touch /usr/bin/x", "cat /etc/shadow",
                        "apt-get install -y hello"):
            sh("! { %s; } 2>&1" % command)
        (box,) = json.loads(home.ctl("--json", "status", code=0).stdout)["engine"]["sandboxes"]
        ats.equal(box["confinement"]["level"], "uid+landlock")
    finally:
        home.ctl("shutdown")
        shell(home, "podman rm -f -t 0 NAME")


ats.main()
