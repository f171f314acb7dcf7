# SPDX-License-Identifier: Apache-2.0
"""Claude Code's command, from pinned npm packages. Tests import ats."""
import os
import subprocess

import ats

PACKAGE = "@anthropic-ai/claude-code"
PINNED = "2.1.332"
VERSION = os.environ.get("ATS_CLAUDE", PINNED)      # what make check-claude starts


class Missing(Exception):
    """There is no such package here; the text says why."""


def install(version):
    """The folder of a version, installed when it is not there yet."""
    where = os.path.join(ats.BUILD, "npm", "claude-" + version)
    r = subprocess.run([os.path.join(ats.TOP, "tests", "lib", "npm-install"),
                        PACKAGE + "@" + version],
                       stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
                       env={**os.environ, "ATS_NPM": where})
    text = r.stdout.decode().strip()
    if r.returncode:
        raise Missing(text or "npm-install failed")
    return os.path.join(text, "node_modules", "@anthropic-ai")


def program(folder):
    """argv of the command: a native program beside the package, or a script for node."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, "")
    native = os.path.join(folder, "claude-code-linux-" + machine, "claude")
    script = os.path.join(folder, "claude-code", "cli.js")
    if os.path.exists(native):
        return [native]
    if os.path.exists(script):
        return ["node", script]
    raise Missing("%s has no program for this machine" % folder)
