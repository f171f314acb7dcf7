#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""0200-systemd.py on Debian 13, whose systemd gives brain a group beside those of its sandboxes
(DelegateSubgroup=)."""
import os
import runpy

os.environ["ATS_SUITE"] = "trixie"
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "0200-systemd.py"),
               run_name="__main__")
