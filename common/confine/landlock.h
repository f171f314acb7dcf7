/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock with our own constants (headers of Linux 6.1 lack the newer ones). A ruleset is
 * built once into a descriptor and may be applied in any number of children. What the
 * running kernel does not know is left out and reported; min_abi says what is not enough. */
#ifndef ATS_COMMON_CONFINE_LANDLOCK_H
#define ATS_COMMON_CONFINE_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define ATS_LL_EXECUTE (1ull << 0)
#define ATS_LL_WRITE_FILE (1ull << 1)
#define ATS_LL_READ_FILE (1ull << 2)
#define ATS_LL_READ_DIR (1ull << 3)
#define ATS_LL_REMOVE_DIR (1ull << 4)
#define ATS_LL_REMOVE_FILE (1ull << 5)
#define ATS_LL_MAKE_CHAR (1ull << 6)
#define ATS_LL_MAKE_DIR (1ull << 7)
#define ATS_LL_MAKE_REG (1ull << 8)
#define ATS_LL_MAKE_SOCK (1ull << 9)
#define ATS_LL_MAKE_FIFO (1ull << 10)
#define ATS_LL_MAKE_BLOCK (1ull << 11)
#define ATS_LL_MAKE_SYM (1ull << 12)
#define ATS_LL_REFER (1ull << 13)		/* ABI 2 */
#define ATS_LL_TRUNCATE (1ull << 14)		/* ABI 3 */
#define ATS_LL_IOCTL_DEV (1ull << 15)		/* ABI 5 */
#define ATS_LL_RESOLVE_UNIX (1ull << 16)	/* ABI 9 */
#define ATS_LL_FS_ALL ((1ull << 17) - 1)

#define ATS_LL_READ (ATS_LL_READ_FILE | ATS_LL_READ_DIR)
#define ATS_LL_WRITE                                                                     \
	(ATS_LL_WRITE_FILE | ATS_LL_REMOVE_DIR | ATS_LL_REMOVE_FILE | ATS_LL_MAKE_DIR |  \
	    ATS_LL_MAKE_REG | ATS_LL_MAKE_SOCK | ATS_LL_MAKE_FIFO | ATS_LL_MAKE_SYM |    \
	    ATS_LL_REFER | ATS_LL_TRUNCATE)

#define ATS_LL_BIND_TCP (1ull << 0)		/* ABI 4 */
#define ATS_LL_CONNECT_TCP (1ull << 1)
#define ATS_LL_NET_ALL 3ull

#define ATS_LL_SCOPE_ABSTRACT (1ull << 0)	/* ABI 6 */
#define ATS_LL_SCOPE_SIGNAL (1ull << 1)
#define ATS_LL_SCOPE_ALL 3ull

struct ats_landlock_path {
	const char *path;	/* or NULL: fd, borrowed, O_PATH is enough */
	int fd;
	uint64_t rights;	/* those that cannot hold for a file are left out for files */
	bool optional;		/* a path that does not exist is skipped */
};
struct ats_landlock_port {
	uint16_t port;
	uint64_t rights;
};
struct ats_landlock_rules {
	uint64_t fs, net, scope;	/* handled: refused unless a rule grants it */
	const struct ats_landlock_path *paths;
	size_t npaths;
	const struct ats_landlock_port *ports;
	size_t nports;
	int min_abi;			/* 0: whatever there is, at least 1 */
};
struct ats_landlock_got {
	int abi;
	uint64_t fs, net, scope;	/* what is really handled */
};

/* The ABI of the running kernel, 0 when Landlock is absent or off. */
int ats_landlock_abi(void);
/* Returns the ruleset's descriptor (owned, CLOEXEC) in *ret_fd. -ATS_E_UNAVAILABLE when
 * the kernel has less than min_abi, -ATS_E_CONFINE when a step failed. got may be NULL. */
ATS_NODISCARD int ats_landlock_build(const struct ats_landlock_rules *r, int *ret_fd,
    struct ats_landlock_got *ret_got, struct ats_err *err);
/* Needs no_new_privs. After it mount and pivot_root are refused when fs was handled. */
ATS_NODISCARD int ats_landlock_restrict(int ruleset_fd, struct ats_err *err);

#endif
