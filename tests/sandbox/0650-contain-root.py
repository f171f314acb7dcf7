#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The containment checks in the situation that run.py calls root."""
from contain import run

run.load()
run.main("root")
