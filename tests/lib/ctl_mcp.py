# SPDX-License-Identifier: Apache-2.0
"""A client of atsctl mcp."""
import json
import os
import select
import subprocess

import ats


class Client(ats.Rpc):
    """atsctl mcp on pipes; without start only a brain that runs, or is scripted, is used."""

    def __init__(self, home, *args, start=False):
        super().__init__()
        self.process = home.popen(ats.program("atsctl"), *([] if start else ["--no-start"]),
                                  "mcp", *args,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)

    def _send(self, data, fds):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _recv(self, timeout):
        select.select([self.process.stdout], [], [], timeout)
        return os.read(self.process.stdout.fileno(), 65536)

    def rest(self):
        """Closes stdin; returns exit code and the messages that still came."""
        self.process.stdin.close()
        data = self.buffer
        while True:
            part = self._recv(ats.TIMEOUT)
            if not part:
                break
            data += part
        lines = [json.loads(x) for x in data.split(b"\n") if x]
        return self.process.wait(ats.TIMEOUT), lines
