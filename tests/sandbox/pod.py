# SPDX-License-Identifier: Apache-2.0
"""A container engine of the test's own: podman and buildah of Debian with directories that are
thrown away, no network, runc (crun refuses machines with two cgroup versions), and two images
that are made of nothing: hands alone, and hands with this machine's own bash and some tools."""
import atexit
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

TOOLS = ("bash", "cat", "chmod", "env", "grep", "id", "kill", "ls", "mkdir", "mv", "ps", "rm",
         "setsid", "sh", "sleep", "stat", "touch", "true", "wc")
# The project's own, and what their FROM is exchanged for: there is no network here.
OWN = {"alone": ("Containerfile", None), "debian": ("Containerfile.debian", "system")}
_engine = []


def engine():
    """The one Engine of this process; skips the test where there can be none."""
    if os.geteuid() != 0:
        ats.skip("needs root")
    for program in ("podman", "runc", "buildah"):
        if not shutil.which(program):
            ats.skip("no %s (packaging/packages.container)" % program)
    if ats.SANITIZED:
        ats.skip("the image holds the static program")
    if not _engine:
        _engine.append(Engine())
        atexit.register(_engine[0].close)
    return _engine[0]


class Engine:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="ats-pod-")
        self.images, self.service = set(), None
        for d in ("root", "run", "tmp", "image", "home"):
            os.mkdir(os.path.join(self.top, d))
        self.env = {"PATH": os.environ["PATH"], "HOME": self.top + "/home",
                    "TMPDIR": self.top + "/tmp"}
        self.store = ["--root", self.top + "/root", "--runroot", self.top + "/run",
                      "--storage-driver", "vfs"]

    def podman_argv(self, *argv):
        return ["podman", *self.store, "--tmpdir", self.top + "/tmp", "--runtime", "runc",
                "--cgroup-manager", "cgroupfs", "--events-backend", "none", *argv]

    def podman(self, *argv, check=True):
        r = subprocess.run(self.podman_argv(*argv), env=self.env, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=120, check=False)
        ats.check(not check or r.returncode == 0, "podman %s: %s" % (argv, r.stderr.decode()))
        return r.stdout.decode().strip()

    def load(self, root, name):
        """An image of a root directory, under that name: what FROM then finds here."""
        with subprocess.Popen(["tar", "-C", root, "--one-file-system", "-c", "."],
                              stdout=subprocess.PIPE) as tar:
            r = subprocess.run(self.podman_argv("import", "--change", "CMD bash", "-", name),
                               env=self.env, stdin=tar.stdout, capture_output=True, timeout=600,
                               check=False)
        ats.equal((r.returncode, tar.returncode), (0, 0), r.stderr.decode())

    def command(self):
        """The path of a program podman that is this engine's, for lines of documents. It has no
        network to give, and the limits that may be set here."""
        path = os.path.join(self.top, "home", "podman")
        with open(path + ".conf", "w", encoding="ascii") as f:
            f.write("[containers]\nnetns = \"none\"\n"
                    "default_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n")
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexport HOME=%s TMPDIR=%s CONTAINERS_CONF=%s\nexec %s \"$@\"\n" % (
                self.env["HOME"], self.env["TMPDIR"], path + ".conf", shlex.join(
                    [shutil.which("podman"), *self.podman_argv()[1:]])))
        os.chmod(path, 0o755)
        return path

    def docker(self):
        """The path of a program docker that is this engine's, by the API that podman serves as
        dockerd does; skips where there is no docker client (Debian: docker.io, docker-cli). What is
        not dockerd's there: without -t a stop kills, and of run --rm the exit status is 0."""
        client = shutil.which("docker")
        if not client:
            ats.skip("no docker client")
        path, at = os.path.join(self.top, "home", "docker"), self.top + "/docker.sock"
        if self.service is None:
            # Without events nobody hears of the end of a container.
            argv = [self.command()] + ["--events-backend", "file"]
            self.service = subprocess.Popen([*argv, "system", "service", "--time=0", "unix://" + at],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
            ats.until(lambda: os.path.exists(at), "podman serves the API")
            with open(path, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\nexport DOCKER_HOST=unix://%s DOCKER_BUILDKIT=0 HOME=%s\nexec %s "
                        "\"$@\"\n" % (at, self.env["HOME"], client))
            os.chmod(path, 0o755)
        return path

    def end_service(self):
        if self.service is not None:
            self.service.terminate()
            self.service.wait()
            self.service = None

    def image(self, name):
        """"alone" and "debian" by the project's own Containerfiles, or "system"."""
        if name in self.images:
            return "localhost/" + name
        top = os.path.join(self.top, "image")
        shutil.copy(ats.program("ats-hands"), top)
        more = []
        if name in OWN:
            file = os.path.join(ats.TOP, "packaging", "container", OWN[name][0])
            more = ["--from", self.image(OWN[name][1])] if OWN[name][1] else []
        else:
            self.copy_system(top + "/system")
            file = top + "/Containerfile"
            with open(file, "w", encoding="utf-8") as f:
                f.write("FROM scratch\nCOPY system /\nCOPY ats-hands /\n"
                        "ENV PATH=/usr/bin\nENTRYPOINT [\"/ats-hands\"]\n")
        r = subprocess.run(["buildah", *self.store, "bud", "--isolation", "chroot", *more, "-f",
                            file, "-t", name, top], env=self.env, capture_output=True, timeout=300,
                           stdin=subprocess.DEVNULL, check=False)
        ats.equal(r.returncode, 0, "buildah: %s" % r.stderr.decode())
        self.images.add(name)
        return "localhost/" + name

    @staticmethod
    def copy_system(top):
        files = {}
        for name in TOOLS:
            path = os.path.realpath(shutil.which(name, path="/usr/bin:/bin"))
            files["/usr/bin/" + name] = path
            said = subprocess.run(["ldd", path], capture_output=True, check=False, text=True)
            files.update((w, os.path.realpath(w)) for w in said.stdout.split()
                         if w.startswith("/"))
        for to, path in files.items():
            os.makedirs(os.path.dirname(top + to), exist_ok=True)
            shutil.copy(path, top + to)
        os.symlink("usr/bin", top + "/bin")
        os.mkdir(top + "/etc")
        os.mkdir(top + "/tmp")
        os.chmod(top + "/tmp", 0o1777)

    def end_watchers(self):
        """Of what ran by exec the API keeps a conmon, and with it the result, for five minutes; its
        last act would be in directories that are gone."""
        for p in os.listdir("/proc"):
            try:
                with open("/proc/%s/cmdline" % p, "rb") as f:
                    if self.top.encode() + b"/" in f.read() and ats.comm(int(p)) == "conmon":
                        os.kill(int(p), signal.SIGKILL)
            except (OSError, ValueError):
                pass

    def close(self):
        self.end_service()
        for cid in self.podman("ps", "-aq", "--no-trunc", check=False).split():
            self.podman("rm", "-f", "-t", "0", cid, check=False)
        self.end_watchers()
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            mounts = [x.split()[4] for x in f if x.split()[4].startswith(self.top + "/")]
        for m in reversed(mounts):
            subprocess.run(["umount", m], check=False)
        shutil.rmtree(self.top, ignore_errors=True)


class Container:
    """One that runs. run: options of podman run. options: k=v of hands. command: after --.
    argv: of the image's entry point, instead of all that. uid: the workspace's owner."""

    def __init__(self, image="system", run=(), options=("min_level=landlock",), command=(),
                 argv=None, uid=0, sockets="/sockets", socket="s"):
        self.engine = engine()
        self.top = tempfile.mkdtemp(prefix="c-", dir=self.engine.top)
        os.chmod(self.engine.top, 0o755)
        os.chmod(self.top, 0o755)
        self.ws = self.top + "/ws"
        os.mkdir(self.ws)
        os.chown(self.ws, uid, uid)
        os.mkdir(self.top + "/sockets")
        os.chmod(self.top + "/sockets", 0o777)
        self.sock = os.path.join(self.top, "sockets", socket)
        if argv is None:
            argv = ["--listen", "unix:/sockets/s", "--workspace", "/workspace"]
            for o in options:
                argv += ["--option", o]
            argv += ["--", *command] if command else []
        self.log_path = self.top + "/log"
        with open(self.log_path, "ab") as log:
            self.proc = subprocess.Popen(self.engine.podman_argv(
                "run", "--cidfile", self.top + "/cid", "--network", "none", "--ulimit",
                "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "-v",
                self.ws + ":/workspace", "-v", self.top + "/sockets:" + sockets, *run,
                self.engine.image(image), *argv), env=self.engine.env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.calls = 0
        self.results = {}
        self.peer = self.hello = self.ready = None

    def __enter__(self):
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def id(self):
        with open(self.top + "/cid", encoding="ascii") as f:
            return f.read()

    def inspect(self, what):
        return self.engine.podman("inspect", "--format", "{{%s}}" % what, self.id)

    @property
    def pid(self):
        """Of its first process, as this machine sees it."""
        return int(self.inspect(".State.Pid"))

    def below(self):
        """All its processes."""
        return ats.descendants(self.pid) | {self.pid}

    def logged(self, text):
        ats.until(lambda: text in self.log() or self.proc.poll() is not None, text)
        ats.contains(self.log(), text)

    def link(self):
        self.peer = ats.Link.connect_when_up(self.sock, self.proc)
        self.hello, self.ready = self.peer.hello_as_brain()
        return self.peer

    def peer_ended(self):
        """Whether hands has closed the link."""
        probe = select.poll()
        probe.register(self.peer.sock, select.POLLRDHUP)
        return bool(probe.poll(0))

    def start(self, tool, ms=60000, **arguments):
        # One that answers no pings is hung up on, and between two tests nobody does.
        if self.peer is None or self.peer_ended():
            self.link()
        self.calls += 1
        self.peer.send("call.tool", self.calls, {
            "name": tool, "input": arguments, "ctx": {"cwd": "/workspace"}, "deadline_ms": ms,
            "session": "s-000000000001"})
        return self.calls

    def wait(self, call):
        while call not in self.results:
            f = self.peer.expect("result", 60)
            self.results[f.call] = f
        return self.results.pop(call)

    def tool(self, tool, **kw):
        return self.wait(self.start(tool, **kw))

    def out(self, command, **kw):
        """The text of a Bash call that must succeed."""
        f = self.tool("Bash", command=command, **kw)
        text = f.payload.decode()
        ats.check(not f.json.get("is_error"), "%s\nfailed: %s" % (command, text))
        return text

    def code(self):
        """The container's exit status."""
        self.proc.wait(60)
        return int(self.inspect(".State.ExitCode"))

    def __exit__(self, kind, *_):
        if kind is not None:
            print("# log: %s" % self.log().replace("\n", "\n# "))
        if self.peer is not None:
            self.peer.close()
        if os.path.exists(self.top + "/cid"):
            self.engine.podman("rm", "-f", "-t", "0", self.id, check=False)
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGKILL)
        self.proc.wait()
        shutil.rmtree(self.top, ignore_errors=True)


# How a container is run; which situation hands finds there is 0910-container.py's to say.
KINDS = (("root", ()), ("user 1000", ("--user", "1000")), ("privileged", ("--privileged",)))


def each_kind(name, kinds=KINDS, **more):
    def register(fn):
        for kind, run in kinds:
            def go(run=run):
                with Container(run=run, uid=1000 if "1000" in run else 0, **more) as c:
                    fn(c)
            ats.test("%s (%s)" % (name, kind), home=False)(go)
        return fn
    return register


def busy(c):
    """A call and a background shell that want to stay; all processes of the container."""
    c.tool("Bash", command="trap '' TERM; setsid sleep 1000 & sleep 1000",
           run_in_background=True)
    c.start("Bash", command="trap '' TERM HUP; touch on; setsid sleep 1000 & sleep 1000")
    ats.until(lambda: os.path.exists(c.ws + "/on"), "the call runs")
    return c.below()
