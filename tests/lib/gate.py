# SPDX-License-Identifier: Apache-2.0
"""A place where commands wait for the test. Tests import ats."""
import os

import ats


class Gate:
    """A FIFO "go" in the workspace: a command that reads a line of it waits until open()."""

    def __init__(self, home):
        self.path = os.path.join(home.ws, "go")
        os.mkfifo(self.path)
        os.chmod(self.path, 0o666)

    def open(self):
        fd = ats.until(self.descriptor, "a command waits at the gate")
        os.write(fd, b"\n")
        os.close(fd)

    def descriptor(self):
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None
