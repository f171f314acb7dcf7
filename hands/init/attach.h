/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-hands attach: joins stdin and stdout to a hands of this machine that listens, so that
 * whatever starts a program there (podman exec -i, ssh) is a link. */
#ifndef ATS_HANDS_INIT_ATTACH_H
#define ATS_HANDS_INIT_ATTACH_H

#define ATTACH_SOCKET "/run/ats-hands/hands.sock"	/* as the container image listens */

/* argv[0] is "attach". Returns the exit status: 0 when hands has ended the connection, 1 when
 * there is no such socket, 125 without confinement. */
int attach_main(int argc, char **argv);

#endif
