/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock rulesets through raw system calls. Every process of ours runs this; the paths
 * are our own or the host configuration's. */
#include "common/confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/sanitize.h"
#include "common/fd.h"

/* The kernel's ABI, copied since the installed headers may be older than the kernel. */
struct ll_attr {
	uint64_t fs, net, scope;
};
struct ll_path {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));
struct ll_port {
	uint64_t rights, port;
};
#define LL_CREATE_VERSION 1u
#define LL_RULE_PATH 1
#define LL_RULE_PORT 2
#define LL_FILE_RIGHTS                                                                   \
	(ATS_LL_EXECUTE | ATS_LL_WRITE_FILE | ATS_LL_READ_FILE | ATS_LL_TRUNCATE |       \
	    ATS_LL_IOCTL_DEV | ATS_LL_RESOLVE_UNIX)

static int
failed(struct ats_err *err, const char *step, const char *what)
{
	(void)ats_err_sys(err, "landlock.%s%s%s", step, *what != '\0' ? ": " : "", what);
	if (err != NULL)
		err->code = ATS_E_CONFINE;
	return -ATS_E_CONFINE;
}

int
ats_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/* Leaves out what this ABI does not know. */
static struct ats_landlock_got
known_to(int abi, const struct ats_landlock_rules *r)
{
	struct ats_landlock_got got = { .abi = abi, .fs = r->fs };

	if (abi < 9)
		got.fs &= ~ATS_LL_RESOLVE_UNIX;
	if (abi < 5)
		got.fs &= ~ATS_LL_IOCTL_DEV;
	if (abi < 3)
		got.fs &= ~ATS_LL_TRUNCATE;
	if (abi < 2)
		got.fs &= ~ATS_LL_REFER;
	if (abi >= 4)
		got.net = r->net;
	if (abi >= 6)
		got.scope = r->scope;
	return got;
}

static int
add_path(int set, const struct ats_landlock_path *p, uint64_t handled, struct ats_err *err)
{
	struct ll_path rule = { .rights = p->rights & handled, .fd = p->fd };
	int opened ATS_CLEANUP_FD = -1;
	struct stat st;

	if (p->path != NULL) {
		opened = open(p->path, O_PATH | O_CLOEXEC);
		if (opened < 0 && p->optional && (errno == ENOENT || errno == ENOTDIR))
			return 0;
		if (opened < 0)
			return failed(err, "open", p->path);
		rule.fd = opened;
	}
	if (fstat(rule.fd, &st) < 0)
		return failed(err, "stat", p->path != NULL ? p->path : "descriptor");
	if (!S_ISDIR(st.st_mode))
		rule.rights &= LL_FILE_RIGHTS;
	if (rule.rights == 0)		/* nothing to grant; the kernel refuses empty rules */
		return 0;
	if (syscall(SYS_landlock_add_rule, set, LL_RULE_PATH, &rule, 0) < 0)
		return failed(err, "path", p->path != NULL ? p->path : "descriptor");
	return 0;
}

static int
add_port(int set, const struct ats_landlock_port *p, uint64_t handled, struct ats_err *err)
{
	struct ll_port rule = { .rights = p->rights & handled, .port = p->port };

	if (rule.rights == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, set, LL_RULE_PORT, &rule, 0) < 0)
		return failed(err, "port", "");
	return 0;
}

static size_t
attr_size(int abi)
{
	if (abi >= 6)
		return 3 * sizeof(uint64_t);
	return abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

int
ats_landlock_build(const struct ats_landlock_rules *r, int *ret_fd,
    struct ats_landlock_got *ret_got, struct ats_err *err)
{
	int rc = 0, abi = ats_landlock_abi(), set ATS_CLEANUP_FD = -1;
	struct ats_landlock_got got = known_to(abi, r);
	struct ll_attr attr = { .fs = got.fs, .net = got.net, .scope = got.scope };

	if (abi < 1 || abi < r->min_abi)
		return ats_err_set(err, ATS_E_UNAVAILABLE,
		    "landlock: this kernel has ABI %d, at least %d is needed", abi,
		    r->min_abi > 0 ? r->min_abi : 1);
	set = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_size(abi), 0u);
	if (set < 0)
		return failed(err, "create", "");
	if (ats_fd_cloexec(set, true) < 0)
		return failed(err, "cloexec", "");
	for (size_t i = 0; rc == 0 && i < r->npaths; i++)
		rc = add_path(set, &r->paths[i], got.fs, err);
	if (rc == 0 && ATS_SANITIZED)
		rc = add_path(set, &(struct ats_landlock_path){ "/proc", -1, ATS_LL_READ, true },
		    got.fs, err);
	for (size_t i = 0; rc == 0 && i < r->nports; i++)
		rc = add_port(set, &r->ports[i], got.net, err);
	if (rc < 0)
		return rc;
	*ret_fd = ats_steal_fd(&set);
	if (ret_got != NULL)
		*ret_got = got;
	return 0;
}

int
ats_landlock_restrict(int ruleset_fd, struct ats_err *err)
{
	if (syscall(SYS_landlock_restrict_self, ruleset_fd, 0u) < 0)
		return failed(err, "restrict", "");
	return 0;
}
