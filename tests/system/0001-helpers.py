#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The helpers themselves: the codecs agree with the tables."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


@ats.test("ipc messages survive packing", home=False)
def _():
    data = ats.Vault.pack("REGISTER", 7, "/ws", "name:é")
    ats.equal(ats.Vault.unpack(data), ("REGISTER", 7, ["/ws", "name:é"]))
    ats.equal(data[:6], b"\x00\x28\x00\x00\x00\x07")


@ats.test("frames have the header of common/frame.h", home=False)
def _():
    data = ats.Link.pack("control.ping", 5, {"seq": 1}, b"xy")
    ats.equal(data[:20], bytes([0, 0, 0, 31, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 9]))
    ats.equal(data[20:], b'{"seq":1}xy')


@ats.test("a process that a test leaves is found and ended")
def _(home):
    p = home.popen("sleep", "1000", start_new_session=True)
    ats.check(p.pid in home.ours(), "not found")
    home.open_things.remove(p)
    left = home.close()
    p.wait()
    ats.equal(len(left), 1)


ats.main()
