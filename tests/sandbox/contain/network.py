# SPDX-License-Identifier: Apache-2.0
"""The network is off: nobody of the host is reached or seen."""
from contain.base import check
from contain.processes import told

thrown = told("THROWN")

check("tcp4", "a listener on the host's 127.0.0.1 is not reached",
      "try tcp4; { exec 5<>/dev/tcp/127.0.0.1/$TCP4; read -r -t 1 x <&5; echo $x; } 2>/dev/null; true",
      quick=True)
check("tcp6", "nor on ::1", "try tcp6")
check("udp4", "no UDP arrives", "try udp4", verify=thrown)
check("udp6", "nor on ::1", "try udp6", verify=thrown)
check("fast-open", "nor what TCP sends without a connect", "try fast_open", verify=thrown)
check("mptcp", "nor is MPTCP a way", "try mptcp")
check("packet", "no packet or raw sockets", "try packet")
check("families", "no rare families, which load modules", "try families")
check("vsock", "no way to the machine's own host", "try vsock")
check("ping", "nothing leaves", "try ping")
check("abstract", "an abstract socket of the host is not reached", "try abstract")
check("abstract-datagram", "nor one for datagrams", "try abstract_datagram", verify=thrown)
check("path-socket", "nor one outside, by its path", "try path_socket", verify=thrown)
check("workspace-socket", "nor one in the workspace", "try workspace_socket", verify=thrown,
      quick=True)
check("retarget", "nor from a pair of sockets", "try retarget", verify=thrown)
check("visible", "listeners and routes of the host are not seen",
      'grep -qi "0100007F:$(printf %04X "$TCP4")" /proc/net/tcp && say escaped "in /proc/net/tcp"; '
      '[ "$(grep -c . /proc/net/route)" -gt 1 ] && say escaped "routes"; '
      'grep -q "$OUT/sock" /proc/net/unix && say escaped "in /proc/net/unix"; say refused "no more"')
check("links", "nor are its interfaces", "try routes")
