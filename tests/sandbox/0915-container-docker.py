#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of README.md for containers with docker's client, which talks to podman as to dockerd;
podman itself is 0300-image.py's. FROM finds an image of this machine's own programs."""
import json
import os
import re
import shutil
import subprocess

from pod import engine, ats

with open(os.path.join(ats.TOP, "README.md"), encoding="utf-8") as f:
    README = f.read()


def line(begin):
    """The one line of README.md that begins so, for docker."""
    (found,) = re.findall(r"(?m)^ {4}(%s.*)$" % re.escape(begin), README)
    return found.replace("podman", "docker")


def shell(home, words, code=0):
    r = subprocess.run(["sh", "-c", words], cwd=home.dir, stdin=subprocess.DEVNULL, env={
        **home.env, "PATH": "%s:%s" % (os.path.dirname(engine().docker()), os.environ["PATH"])},
        capture_output=True, text=True, timeout=120, check=False)
    ats.equal(r.returncode, code, (words, r.stdout, r.stderr))
    return r.stdout


def built(home):
    e = engine()
    e.docker()
    e.podman("tag", e.image("system"), "docker.io/library/debian:13")
    os.mkdir(home.dir + "/build")
    shutil.copy(ats.program("ats-hands"), home.dir + "/build")
    os.symlink(ats.TOP + "/packaging", home.dir + "/packaging")
    shell(home, line("podman build -f packaging/container/Containerfile.debian"))
    os.chmod(home.dir, 0o755)
    return e


@ats.test("built, asked what confines, and beside a command, as README.md says")
def _(home):
    built(home)
    # Of run --rm the exit status is dockerd's to say.
    words = line("podman run --rm --network none tools --probe")
    ats.contains(words, " --rm ")
    ats.equal(json.loads(shell(home, words.replace("--rm", "--name p"), code=1))["level"],
              "uid+landlock")
    shell(home, "docker rm p")
    shell(home, line("mkdir sockets") + "; " + line("podman run --network none").replace(
        "docker run", "docker run --name p").replace("tools -- CMD", "tools -- sh -c 'exit 7'"), code=7)
    shell(home, "docker rm p")


@ats.test("brain reaches it by docker exec; killed, stopped in time, started again, and gone")
def _(home):
    e = built(home)
    docker, here = e.docker(), home.dir + "/project"
    os.mkdir(here)
    start = line("podman run -d --name NAME")
    shell(home, "cd project && " + start)
    (text,) = re.findall(r'(?ms)^```json\n(\{ "sandbox": \{ "url": "exec:pod" \}.*?)^```', README)
    home.configure(text.replace("exec:pod", "exec:dock").replace("/usr/bin/docker", docker))
    home.ctl("config", "check", code=0)

    def call(*argv, code=0, **kw):
        return home.ctl("exec", "--workspace", "/workspace", "--", *argv, code=code, timeout=60, **kw)
    with open(here + "/file", "w", encoding="ascii") as f:
        f.write("of the host\n")
    ats.equal(call("ls").stdout, b"file\n")
    ats.equal(call("wc", "-c", input=b"x" * 2000000).stdout.strip(), b"2000000")
    for end, status in (("kill", "137"), ("stop -t 10", "0")):
        shell(home, "docker %s NAME" % end)
        ats.equal(e.podman("inspect", "--format", "{{.State.ExitCode}}", "NAME"), status)
        r = call("ls", code=125)
        ats.matches(r.stderr.decode(), "exec:dock gave no sandbox: .*container")
        shell(home, "docker start NAME")
        ats.equal(call("cat", "file").stdout, b"of the host\n")
    shell(home, "docker rm -f NAME")
    ats.matches(call("ls", code=125).stderr.decode(), "last words: .*[Nn]o such container")
    e.end_service()
    ats.matches(call("ls", code=125).stderr.decode(), "last words: .*(docker daemon|docker.sock)")
    home.ctl("shutdown", code=0)


ats.main()
