# SPDX-License-Identifier: Apache-2.0
"""Hooks as a configuration, or a workspace's settings, have them."""


def hook(command, **more):
    return {"type": "command", "command": command, **more}


def group(matcher, *hooks):
    """Each a hook, or the command of one."""
    return {"matcher": matcher, "hooks": [hook(h) if isinstance(h, str) else h for h in hooks]}
