#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MCP Inspector's command line (npm, pinned) against atsctl mcp and against ats-http."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import npm
from http_client import Server

INSPECTOR = "@modelcontextprotocol/inspector"
VERSION = "2.12.0"


def inspect(home, *target, method, options=(), code=0):
    try:
        node = npm.node22()
        folder = npm.install(INSPECTOR + "@" + VERSION, into="inspector")
    except npm.Missing as e:
        ats.skip(str(e))
    main = os.path.join(folder, "node_modules", ".bin", "mcp-inspector")
    r = subprocess.run([node, main, "--cli", "--method", method, *options, "--", *target],
                       env={**home.env, "HOME": home.home}, cwd=home.ws,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=ats.TIMEOUT, check=False)
    ats.check(r.returncode == code, r)
    return json.loads(r.stdout) if code == 0 else r.stdout + r.stderr


def look(home, *target, options=()):
    home.write("f.txt", "hello inspector\n")
    tools = {t["name"] for t in inspect(home, *target, method="tools/list",
                                        options=options)["tools"]}
    ats.check({"Bash", "Read", "Edit"} <= tools, tools)
    r = inspect(home, *target, method="tools/call",
                options=[*options, "--tool-name", "Read", "--tool-args-json", '{"file_path":"f.txt"}'])
    ats.check("hello inspector" in json.dumps(r["content"]), r)
    r = inspect(home, *target, method="tools/call",
                options=[*options, "--tool-name", "Bash", "--tool-args-json",
                         '{"command":"echo $((6*7))"}'])
    ats.check("42" in json.dumps(r["content"]), r)


# Longer than all else: a package of packages, and a program of seconds for each request.
@ats.test("through atsctl mcp", long=ats.WHOLLY)
def _(home):
    # the Inspector hands on little of its own environment
    env = [x for k in sorted(home.env) if k.startswith("XDG_")
           for x in ("-e", "%s=%s" % (k, home.env[k]))]
    look(home, ats.program("atsctl"), "mcp", "--workspace", home.ws, options=env)


@ats.test("over HTTP, with the token and without", long=ats.WHOLLY)
def _(home):
    home.start()
    server = Server(home)
    auth = ["--transport", "http", "--header", "Authorization: Bearer " + server.token]
    look(home, server.where, options=auth)
    inspect(home, server.where, method="tools/list", code=3,
            options=["--transport", "http", "--stored-auth-only"])


if __name__ == "__main__":
    ats.main()
