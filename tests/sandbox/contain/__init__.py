# SPDX-License-Identifier: Apache-2.0
"""The containment checks: base.py says what one is, run.py where they run."""
