/* SPDX-License-Identifier: Apache-2.0
 *
 * What an image made of nothing does not bring: /proc, /dev, /tmp, /run. */
#ifndef ATS_HANDS_INIT_MOUNTS_H
#define ATS_HANDS_INIT_MOUNTS_H

/* Mounts those that are missing or of no use, each by itself, when this process is the first
 * one of its pid namespace and the kernel lets it; a root directory that cannot be written and
 * a container without CAP_SYS_ADMIN keep what they have. What was mounted is logged; what could
 * not be is found, and named, by what needs it. Elsewhere it does nothing: the mounts are
 * somebody else's then. */
void mounts_complete(void);

#endif
