/* SPDX-License-Identifier: Apache-2.0
 *
 * seccomp filters from profiles.def. Runs in init, front and the zygotes at their start; the
 * input is our own tables. */
#include "hands/confine/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/digest.h"

#define EPERM_ ATS_SECCOMP_ERRNO(EPERM)
#define EQ(i, v) ATS_SECCOMP_ARG_EQ(i, v)
#define MASK(i, m, v) ATS_SECCOMP_ARG_MASK(i, m, v)
#define NE(i, v) ATS_SECCOMP_ARG_NE(i, v)
#define GT(i, v) ATS_SECCOMP_ARG_GT(i, v)

#define FILES(name)
#define FILES_IF(name, ...)
#define FILES_SOFT(e, name)
#define WRITES(name)
#define FRONT(name)
#define DIALER(name)
#define DIALER_IF(name, ...)
#define HELPER(name)
#define HELPER_KILL(name)
#define TOOLS(name)
#define TOOLS_IF(name, ...)
#define TOOLS_NR(number)
#define TOOLS_GONE(name)
#define SHELL(name)
#define SHELL_IF(name, ...)
#define SHELL_NR(number)
#define COMMAND_IF(name, ...)
#define COMMAND_NR_IF(number, ...)
#define COMMAND_GONE(name)
#define BARE(name)
#define BARE_IF(name, ...)
#define NONET_IF(name, ...)
#define HOSTS_IF(name, ...)
#define OWN_IF(name, ...)
#define SAMEUID_IF(name, ...)

#undef FILES
#undef FILES_IF
#undef FILES_SOFT
#define FILES(name) ATS_SECCOMP_CALL(ATS_SECCOMP_ALLOW, name),
#define FILES_IF(name, ...) ATS_SECCOMP_IF(ATS_SECCOMP_ALLOW, name, __VA_ARGS__),
#define FILES_SOFT(e, name) ATS_SECCOMP_CALL(ATS_SECCOMP_ERRNO(e), name),
static const struct ats_seccomp_rule files_rules[] = {
#include "hands/confine/profiles.def"
};
#undef FILES
#undef FILES_IF
#undef FILES_SOFT
#define FILES(name)
#define FILES_IF(name, ...)
#define FILES_SOFT(e, name)

#undef WRITES
#define WRITES(name) ATS_SECCOMP_CALL(ATS_SECCOMP_ALLOW, name),
static const struct ats_seccomp_rule writes_rules[] = {
#include "hands/confine/profiles.def"
};
#undef WRITES
#define WRITES(name)

#undef FRONT
#define FRONT(name) ATS_SECCOMP_CALL(EPERM_, name),
static const struct ats_seccomp_rule front_rules[] = {
#include "hands/confine/profiles.def"
};
#undef FRONT
#define FRONT(name)

#undef DIALER
#undef DIALER_IF
#define DIALER(name) ATS_SECCOMP_CALL(EPERM_, name),
#define DIALER_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
static const struct ats_seccomp_rule dialer_rules[] = {
#include "hands/confine/profiles.def"
};
#undef DIALER
#undef DIALER_IF
#define DIALER(name)
#define DIALER_IF(name, ...)

#undef HELPER
#undef HELPER_KILL
#define HELPER(name) ATS_SECCOMP_CALL(EPERM_, name),
#define HELPER_KILL(name) ATS_SECCOMP_CALL(ATS_SECCOMP_KILL, name),
static const struct ats_seccomp_rule helper_rules[] = {
#include "hands/confine/profiles.def"
};
#undef HELPER
#undef HELPER_KILL
#define HELPER(name)
#define HELPER_KILL(name)

#undef TOOLS
#undef TOOLS_IF
#undef TOOLS_NR
#undef TOOLS_GONE
#define TOOLS(name) ATS_SECCOMP_CALL(EPERM_, name),
#define TOOLS_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
#define TOOLS_NR(number) ATS_SECCOMP_NR(EPERM_, number),
#define TOOLS_GONE(name) ATS_SECCOMP_CALL(ATS_SECCOMP_ERRNO(ENOSYS), name),
static const struct ats_seccomp_rule tools_rules[] = {
#include "hands/confine/profiles.def"
};
#undef TOOLS
#undef TOOLS_IF
#undef TOOLS_NR
#undef TOOLS_GONE
#define TOOLS(name)
#define TOOLS_IF(name, ...)
#define TOOLS_NR(number)
#define TOOLS_GONE(name)

#undef SHELL
#undef SHELL_IF
#undef SHELL_NR
#define SHELL(name) ATS_SECCOMP_CALL(EPERM_, name),
#define SHELL_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
#define SHELL_NR(number) ATS_SECCOMP_NR(EPERM_, number),
static const struct ats_seccomp_rule shell_rules[] = {
#include "hands/confine/profiles.def"
};
#undef SHELL
#undef SHELL_IF
#undef SHELL_NR
#define SHELL(name)
#define SHELL_IF(name, ...)
#define SHELL_NR(number)

#undef COMMAND_IF
#undef COMMAND_NR_IF
#undef COMMAND_GONE
#define COMMAND_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
#define COMMAND_NR_IF(number, ...)                                                        \
	{ .nr = (number), .action = EPERM_, .args = { __VA_ARGS__ } },
#define COMMAND_GONE(name) ATS_SECCOMP_CALL(ATS_SECCOMP_ERRNO(ENOSYS), name),
static const struct ats_seccomp_rule command_rules[] = {
#include "hands/confine/profiles.def"
};
#undef COMMAND_IF
#undef COMMAND_NR_IF
#undef COMMAND_GONE
#define COMMAND_IF(name, ...)
#define COMMAND_NR_IF(number, ...)
#define COMMAND_GONE(name)

#undef BARE
#undef BARE_IF
#define BARE(name) ATS_SECCOMP_CALL(EPERM_, name),
#define BARE_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
static const struct ats_seccomp_rule bare_rules[] = {
#include "hands/confine/profiles.def"
};
#undef BARE
#undef BARE_IF
#define BARE(name)
#define BARE_IF(name, ...)

#undef NONET_IF
#define NONET_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
static const struct ats_seccomp_rule nonet_rules[] = {
#include "hands/confine/profiles.def"
};
#undef NONET_IF
#define NONET_IF(name, ...)

#undef HOSTS_IF
#define HOSTS_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
static const struct ats_seccomp_rule hosts_rules[] = {
#include "hands/confine/profiles.def"
};
#undef HOSTS_IF
#define HOSTS_IF(name, ...)

#undef OWN_IF
#define OWN_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
static const struct ats_seccomp_rule own_rules[] = {
#include "hands/confine/profiles.def"
};
#undef OWN_IF
#define OWN_IF(name, ...)

#undef SAMEUID_IF
#define SAMEUID_IF(name, ...) ATS_SECCOMP_IF(EPERM_, name, __VA_ARGS__),
static const struct ats_seccomp_rule sameuid_rules[] = {
#include "hands/confine/profiles.def"
};

#define TABLE(sym, def) static const struct ats_seccomp_table sym##_table = {            \
	#sym, (def), sym##_rules, ATS_ARRAY_LEN(sym##_rules) }
TABLE(files, ATS_SECCOMP_KILL);
TABLE(writes, ATS_SECCOMP_KILL);
TABLE(front, ATS_SECCOMP_ALLOW);
TABLE(dialer, ATS_SECCOMP_ALLOW);
TABLE(helper, ATS_SECCOMP_ALLOW);
TABLE(tools, ATS_SECCOMP_ALLOW);
TABLE(shell, ATS_SECCOMP_ALLOW);
TABLE(command, ATS_SECCOMP_ALLOW);
TABLE(bare, ATS_SECCOMP_ALLOW);
TABLE(nonet, ATS_SECCOMP_ALLOW);
TABLE(hosts, ATS_SECCOMP_ALLOW);
TABLE(own, ATS_SECCOMP_ALLOW);
TABLE(sameuid, ATS_SECCOMP_ALLOW);

static const struct ats_seccomp_table *const tables[FILTER_COUNT][5] = {
	[FILTER_BASE] = { &ats_seccomp_base },
	[FILTER_FRONT] = { &ats_seccomp_base, &ats_seccomp_noexec, &front_table },
	[FILTER_DIALER] = { &ats_seccomp_base, &ats_seccomp_noexec, &dialer_table },
	[FILTER_HELPER] = { &tools_table, &shell_table, &bare_table, &sameuid_table,
	    &helper_table },
	[FILTER_TOOLS] = { &tools_table },
	[FILTER_READ] = { &files_table },
	[FILTER_WRITE] = { &files_table, &writes_table },
	[FILTER_SHELL] = { &shell_table },
	[FILTER_SHELL_UID] = { &shell_table, &bare_table, &hosts_table, &nonet_table },
	[FILTER_SHELL_SAMEUID] = { &shell_table, &bare_table, &hosts_table, &nonet_table,
	    &sameuid_table },
	[FILTER_SHELL_UID_NET] = { &shell_table, &bare_table, &hosts_table },
	[FILTER_SHELL_SAMEUID_NET] = { &shell_table, &bare_table, &hosts_table,
	    &sameuid_table },
	[FILTER_SHELL_UID_OWN] = { &shell_table, &bare_table, &own_table, &nonet_table },
	[FILTER_SHELL_SAMEUID_OWN] = { &shell_table, &bare_table, &own_table, &nonet_table,
	    &sameuid_table },
	[FILTER_COMMAND] = { &command_table },
};
const char *const filter_names[FILTER_COUNT] = { "base", "front", "dialer", "helper", "tools",
	"read", "write", "shell", "shell-uid", "shell-sameuid", "shell-uid-net",
	"shell-sameuid-net", "shell-uid-own", "shell-sameuid-own", "command" };

/* personality(2): asking, Linux, no address randomisation, and the two 32-bit ones. An
 * allow list of values inside a filter that allows by default is beyond libseccomp. */
static struct sock_filter personality_insns[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_personality, 0, 7),
	BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args[0])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 3, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x20000, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40000, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* Who has the listener is asked. Another architecture's numbers end in an earlier filter, and so
 * do sockets of other families. */
static struct sock_filter listen_insns[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bind, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_connect, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

enum filter
filter_of(enum ats_profile profile, const struct box *b)
{
	if (profile == ATS_PROFILE_READ)
		return FILTER_READ;
	if (profile == ATS_PROFILE_WRITE)
		return FILTER_WRITE;
	if (box_has_namespaces(b))
		return FILTER_SHELL;
	if ((b->facts & BOX_NET_HOST) != 0)
		return box_has_uids(b) ? FILTER_SHELL_UID_NET : FILTER_SHELL_SAMEUID_NET;
	if (box_has_own_sockets(b))
		return box_has_uids(b) ? FILTER_SHELL_UID_OWN : FILTER_SHELL_SAMEUID_OWN;
	return box_has_uids(b) ? FILTER_SHELL_UID : FILTER_SHELL_SAMEUID;
}

enum filter
filter_below(enum filter f)
{
	if (f == FILTER_FRONT || f == FILTER_DIALER)
		return f;
	if (f == FILTER_HELPER || f == FILTER_TOOLS)
		return FILTER_BASE;
	if (f == FILTER_READ || f == FILTER_WRITE)
		return FILTER_HELPER;
	return f == FILTER_BASE ? FILTER_BASE : FILTER_TOOLS;
}

static size_t
count(enum filter f)
{
	size_t n = 0;

	while (n < ATS_ARRAY_LEN(tables[f]) && tables[f][n] != NULL)
		n++;
	return n;
}

/* Digests of what was built, for reports. */
static char built[FILTER_COUNT][ATS_SHA256_HEX];

static void
digest(const struct ats_seccomp_prog *p, char hex[ATS_SHA256_HEX])
{
	ats_sha256_hex(p->insns, p->n * sizeof(struct sock_filter), hex);
}

int
filter_build(enum filter f, struct ats_seccomp_prog *ret, struct ats_err *err)
{
	int rc = ats_seccomp_build(tables[f], count(f), ret, err);

	if (rc == 0)
		digest(ret, built[f]);
	return rc;
}

int
filter_load(enum filter f, const struct ats_seccomp_prog *p, struct ats_err *err)
{
	const struct ats_seccomp_prog personality = { personality_insns,
		ATS_ARRAY_LEN(personality_insns) };
	int rc = 0;

	if (f == FILTER_BASE || f == FILTER_FRONT || f == FILTER_DIALER)
		rc = ats_seccomp_load_unknown(ATS_SECCOMP_FIRST_UNKNOWN, err);
	else if (f == FILTER_TOOLS)
		rc = ats_seccomp_load(&personality, err);
	return rc < 0 ? rc : ats_seccomp_load(p, err);
}

int
filter_listen(int *ret_listener, struct ats_err *err)
{
	const struct ats_seccomp_prog p = { listen_insns, ATS_ARRAY_LEN(listen_insns) };

	return ats_seccomp_load_listener(&p, ret_listener, err);
}

int
filter_install(enum filter f, struct ats_err *err)
{
	struct ats_seccomp_prog prog = { NULL, 0 };
	int rc = filter_build(f, &prog, err);

	if (rc == 0)
		rc = filter_load(f, &prog, err);
	ats_seccomp_done(&prog);
	return rc;
}

int
filter_text(enum filter f, char **ret_text, struct ats_err *err)
{
	return ats_seccomp_text(tables[f], count(f), ret_text, err);
}

void
filter_label(enum filter f, const struct ats_seccomp_prog *p, char out[64])
{
	char all[3][ATS_SHA256_HEX] = { 0 }, hex[ATS_SHA256_HEX];

	digest(p, all[0]);
	memcpy(all[1], built[filter_below(f)], sizeof all[1]);
	if (filter_below(f) == FILTER_TOOLS)
		memcpy(all[2], built[FILTER_COMMAND], sizeof all[2]);
	ats_sha256_hex(all, sizeof all, hex);
	(void)snprintf(out, 64, "%s-%.12s", filter_names[f], hex);
}
