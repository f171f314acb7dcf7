# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own."""
import fcntl
import os
import pty
import re
import struct
import termios
import threading

import ats


class Terminal:
    """Runs argv in a new session whose controlling terminal is a pty; what it prints is kept.
    before: a line that was typed when it starts."""

    def __init__(self, home, *argv, rows=50, columns=200, before=None, **kw):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.text, self.ended = b"", False
        if before is not None:      # the kernel brings it to the terminal in its own time: the echo
            self.type(before + "\n")
            while not self.text.endswith(b"\n"):
                self.text += os.read(self.master, 4096)
        self.changed = threading.Condition()
        self.process = home.popen(*argv, stdin=slave, stdout=slave, stderr=slave,
                                  start_new_session=True, preexec_fn=self.take, **kw)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    @staticmethod
    def take():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def read(self):
        while True:
            try:
                part = os.read(self.master, 65536)
            except OSError:
                part = b""
            with self.changed:
                self.text += part
                self.ended = not part
                self.changed.notify_all()
            if not part:
                return

    def expect(self, pattern, timeout=ats.TIMEOUT):
        """Waits for a text that matches; returns the match."""
        with self.changed:
            found = self.changed.wait_for(
                lambda: re.search(pattern, self.text) or self.ended, timeout)
            m = re.search(pattern, self.text)
            if not found or not m:
                raise ats.Failure("%r does not come: %.4000r" % (pattern, self.text))
            return m

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self, code, timeout=ats.TIMEOUT):
        """Waits for its end; returns all that it printed."""
        got = self.process.wait(timeout)
        self.reader.join(timeout)
        os.close(self.master)
        if got != code:
            raise ats.Failure("exit %d, wanted %d: %.4000r" % (got, code, self.text))
        return self.text
