/* SPDX-License-Identifier: Apache-2.0
 *
 * Namespaces of the box: what the launcher and init do around clone(2). Errors begin with
 * the primitive's name, and a remedy where one is known. */
#ifndef ATS_HANDS_CONFINE_NS_H
#define ATS_HANDS_CONFINE_NS_H

#include "hands/confine/box.h"

/* fork(2) with namespace flags; the child gets 0. -1 with errno. */
pid_t ns_fork(unsigned long flags);
/* The same; the child is in the group of cgroup v2 whose directory cgroup is. */
pid_t ns_fork_into(unsigned long flags, int cgroup);
/* Flags of clone for the situation (0 without namespaces). net_host: the network stays. */
unsigned long ns_flags(enum box_situation s, bool net_host);
/* A text that says why and what to do, for a failed clone with those flags. */
int ns_explain(enum box_situation s, int errnum, struct ats_err *err);
/* The same by the sysctl files below proc. */
int ns_explain_at(const char *proc, enum box_situation s, int errnum, struct ats_err *err);
/* For a failed mount of a fresh /proc. */
int ns_explain_proc(int errnum, struct ats_err *err);

/* In the new user namespace: uid and gid map to themselves. */
ATS_NODISCARD int ns_write_maps(uid_t uid, gid_t gid, struct ats_err *err);
/* A user namespace whose maps exchange disk_id and box_id and leave all other ids alone,
 * for mount_setattr(2). Called in the host's pid namespace. */
ATS_NODISCARD int ns_idmap(uid_t disk_uid, gid_t disk_gid, uid_t box_uid, gid_t box_gid,
    int *ret_fd, struct ats_err *err);
/* In the box: loopback up, host name, sysctls. Sets b->facts for what worked; needs the
 * box's own /proc. */
void ns_tune(struct box *b);
ATS_NODISCARD int ns_loopback_up(void);
/* pid_max of the pid namespace that proc (a directory) was mounted for. False on kernels
 * where it would be the host's. */
bool ns_pid_max(const char *proc, unsigned value);

#endif
