# SPDX-License-Identifier: Apache-2.0
"""Claude Code itself, started as a user starts it with our tools, and a model that the test is.

Three wirings, as docs/CLAUDE-CODE.md has them: MCP has only our tools, by their own names;
ALIASES has Claude Code's names and schemas, whose calls go to ours; HTTP is MCP with ats-http
between. Home and configuration are the test's, and the API that it is given is the stand-in's,
on loopback.
"""
import contextlib
import functools
import json
import os
import secrets
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats  # noqa: E402
import claude  # noqa: E402
import http_client  # noqa: E402
from model import Model  # noqa: E402

MCP, ALIASES, HTTP = "our names", "its own names", "over HTTP"
NATIVE = ("Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep")
PREFIX = "mcp__ats__"


@functools.lru_cache(maxsize=1)
def installed():
    try:
        return claude.program(claude.install(claude.VERSION)), None
    except claude.Missing as e:
        return None, str(e)


def program():
    argv, why = installed()
    if argv is None:
        ats.skip(why)
    return argv


def documentation():
    with open(os.path.join(ats.TOP, "docs", "CLAUDE-CODE.md"), encoding="utf-8") as f:
        return f.read()


def aliases():
    """toolAliases, from the line that the documentation has for stdin."""
    line = next(x for x in documentation().split("\n") if '"control_request"' in x)
    return json.loads(line)["request"]["toolAliases"]


def test(name, *wirings, users=False):
    """Registers a test for each wiring: fn(home, wiring). HTTP's server is only ever ours."""
    def register(fn):
        for wiring in wirings or (MCP, ALIASES):
            def run(home, wiring=wiring):
                program()
                fn(home, wiring)
            ats.test("%s, %s" % (name, wiring), users=users and wiring != HTTP)(run)
    return register


def is_older():
    """Another version was asked for (ATS_CLAUDE): it knows no MCP 2026-07-28."""
    return claude.VERSION != claude.PINNED


class Cli:
    """more: arguments; entry: members of the server's entry in the MCP configuration; tools: of
    Claude Code's own. With ALIASES it takes any number of prompts (prompt()), else only one."""

    def __init__(self, home, wiring, *more, entry=None, env=None, tools=None):
        argv = program()
        self.home, self.wiring = home, wiring
        self.key = "sk-ant-canary-" + secrets.token_hex(16)
        self.model = Model(self.key)
        self.buffer, self.events = b"", []
        self.process = None
        home.open_things.append(self)
        self.config = os.path.join(home.dir, "claude")
        os.makedirs(self.config, 0o700, exist_ok=True)
        servers = os.path.join(self.config, "mcp.json")
        with open(servers, "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"ats": {**self.entry(), **(entry or {})}}}, f)
        if home.uid is not None:
            os.chown(self.config, home.uid, home.uid)
            os.chown(servers, home.uid, home.uid)
        if tools is None:
            tools = ",".join(NATIVE) if wiring == ALIASES else ""
        argv = [*home.prefix, *argv, "-p", "--output-format", "stream-json", "--verbose",
                "--no-session-persistence", "--setting-sources", "", "--tools", tools,
                "--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__ats",
                "--permission-mode", "dontAsk", *more]
        argv += ["--input-format", "stream-json"] if wiring == ALIASES else ["--", "go"]
        self.log = os.path.join(home.dir, "claude.err")
        with open(self.log, "ab") as err:
            self.process = subprocess.Popen(
                argv, env={**home.env, **self.environment(), **(env or {})}, cwd=home.ws,
                stdin=subprocess.PIPE if wiring == ALIASES else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=err, bufsize=0)
        if wiring == ALIASES:
            self.control(subtype="initialize", toolAliases=aliases())
            self.prompt("go")

    def entry(self):
        if self.wiring != HTTP:
            return {"command": ats.program("atsctl"), "args": ["mcp", "--workspace", self.home.ws]}
        self.home.start()
        self.http = http_client.Server(self.home)
        return {"type": "http", "url": "http://127.0.0.1:%d/mcp" % self.http.port,
                "headers": {"Authorization": "Bearer ${ATS_HTTP_TOKEN}"}}

    def environment(self):
        token = {"ATS_HTTP_TOKEN": self.http.token} if self.wiring == HTTP else {}
        return {**token, "ANTHROPIC_API_KEY": self.key, "ANTHROPIC_BASE_URL": self.model.url,
                "CLAUDE_CODE_MESSAGING_TOKEN": self.key, "GITHUB_TOKEN": self.key,
                "AWS_SECRET_ACCESS_KEY": self.key, "CLAUDE_CONFIG_DIR": self.config,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1", "SHELL": "/bin/bash"}

    # what the person does
    def say(self, **message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def control(self, **request):
        """A control request of the stream; returns when it is answered."""
        id = secrets.token_hex(4)
        self.say(type="control_request", request_id=id, request=request)
        answer = self.event(lambda e: e.get("type") == "control_response" and
                            e["response"]["request_id"] == id)
        ats.equal(answer["response"]["subtype"], "success", answer)
        return answer["response"].get("response")

    def prompt(self, text):
        self.say(type="user", message={"role": "user", "content": [{"type": "text", "text": text}]},
                 parent_tool_use_id=None, session_id="")

    # what it prints
    def event(self, wanted, timeout=60.0):
        """The next event for which wanted(event) is true; those before it are kept in events."""
        while True:
            while b"\n" not in self.buffer:
                ready, _, _ = select.select([self.process.stdout], [], [], timeout)
                data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
                if not data:
                    raise ats.Failure("Claude Code says nothing; %s" % self.told())
                self.buffer += data
            line, self.buffer = self.buffer.split(b"\n", 1)
            event = json.loads(line)
            self.events.append(event)
            if wanted(event):
                return event

    def turn_ends(self):
        """What it says of a turn, at its end."""
        return self.event(lambda e: e.get("type") == "result")

    def told(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return "%.2000s\n%.2000s" % (f.read(), json.dumps(self.events[-5:]))

    # what the model does
    def name(self, tool):
        return tool if self.wiring == ALIASES and tool in NATIVE else PREFIX + tool

    def begin(self, request, *calls):
        """(tool, {arguments})... in one message; the tools are named as ours."""
        return request.use(*[(self.name(tool), arguments) for tool, arguments in calls])

    def use(self, request, tool, **arguments):
        """One call: (the next request, the call's result)."""
        self.begin(request, (tool, arguments))
        request = self.model.request()
        return request, request.result()

    # the end
    def end(self):
        """Its exit code, once the model has nothing more to say."""
        if self.process.stdin:
            self.process.stdin.close()
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], 60.0)
            ats.check(ready, "Claude Code does not end")
            if not os.read(self.process.stdout.fileno(), 1 << 16):
                return self.process.wait(30)

    def close(self):
        if self.process and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.process.send_signal(signal.SIGKILL)
        if self.process:
            self.process.wait()
            for f in (self.process.stdin, self.process.stdout):
                if f:
                    f.close()
        self.model.close()
