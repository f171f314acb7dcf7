# SPDX-License-Identifier: Apache-2.0
"""The two sides: `claude mcp serve` of some version, and `atsctl mcp`; each with a home, a
workspace and a user of its own, and a deadline for each call."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import ats  # noqa: E402
import claude  # noqa: E402

VERSIONS = ("1.0.72", "2.0.20", "2.1.197", "2.1.332")
DEADLINE = 20.0         # no call of the table has work for more than two seconds
SECRET = "sk-ant-canary-of-the-comparison"


class Server(ats.Rpc):
    """An MCP server on stdio whose stderr goes to a file."""

    def __init__(self, argv, env, cwd, log):
        super().__init__()
        with open(log, "ab") as err:
            self.proc = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=err, bufsize=0)

    def _send(self, data, fds):
        try:
            self.proc.stdin.write(data)
        except BrokenPipeError as e:
            raise ats.Failure("the server has gone") from e

    def _recv(self, timeout):
        ats.wait_readable(self.proc.stdout, timeout)
        return os.read(self.proc.stdout.fileno(), 1 << 20)

    def close(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        self.proc.stdin.close()
        self.proc.stdout.close()


class Side:
    """home and uid as in ats.Home; call() gives (kind, result), where kind is "answer",
    "hangs" or "gone". After the last two the session is a new one."""

    def __init__(self):
        # Root would read what is not readable: both sides are an ordinary user's.
        uid = ats.OTHER_UID if os.geteuid() == 0 else None
        self.home = ats.Home(uid)
        self.uid = uid
        self.home.env["ANTHROPIC_API_KEY"] = SECRET
        # Our tools may use their own /tmp.
        self.outside = tempfile.mkdtemp(prefix="ats-outside.", dir="/var/tmp")
        with open(os.path.join(self.outside, "secret"), "w", encoding="ascii") as f:
            f.write("outside\n")
        if uid is not None:
            os.chown(self.outside, uid, uid)
            os.chown(f.name, uid, uid)
        self.server = None

    def argv(self):
        raise NotImplementedError

    def connect(self):
        self.server = Server(self.argv(), self.home.env, self.home.ws,
                             os.path.join(self.home.dir, "stderr"))
        self.server.initialize()

    def disconnect(self):
        if self.server:
            self.server.close()
            self.server = None

    def call(self, tool, args, deadline=DEADLINE):
        if not self.server:
            self.connect()
        try:
            id = self.server.send("tools/call", {"name": tool, "arguments": args})
            return "answer", self.server.answer(id, deadline)
        except ats.Failure as e:
            self.disconnect()
            return ("hangs" if "in time" in str(e) else "gone"), None

    def tools(self):
        if not self.server:
            self.connect()
        return {t["name"]: t for t in self.server.request("tools/list")["tools"]}

    def survivors(self, word):
        """Whether some are still there after a moment in which they could have ended."""
        end = time.monotonic() + 0.5
        while True:
            found = [p for p in self.home.ours() if word in ats.cmdline(p)]
            if not found or time.monotonic() > end:
                return bool(found)
            ats.wait_gone(found, 0.1)

    def close(self):
        self.disconnect()
        shutil.rmtree(self.outside, ignore_errors=True)
        return self.home.close()


class Native(Side):
    def __init__(self, version):
        self.folder = claude.install(version)
        self.command = claude.program(self.folder)
        super().__init__()
        self.version = version
        self.home.env.update(CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
                             DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1", SHELL="/bin/bash")

    def argv(self):
        # It needs no network, and gets none where that can be had.
        alone = ["unshare", "-n", "--"] if self.uid is not None else []
        return [*alone, *self.home.prefix, *self.command, "mcp", "serve"]

    def disconnect(self):
        """What its commands left goes with it, by pid."""
        left = self.home.ours()
        super().disconnect()
        for pid in left:
            if ats.alive(pid):
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass

    def close(self):
        super().close()
        return []


class Ours(Side):
    number = 0

    def argv(self):
        Ours.number += 1
        return [*self.home.prefix, ats.program("atsctl"), "mcp", "--workspace", self.home.ws,
                "--session", "diff%d" % Ours.number]
