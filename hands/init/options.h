/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of ats-hands (not of its inner roles). Given by the spawner, by a
 * container's image or by a person. */
#ifndef ATS_HANDS_INIT_OPTIONS_H
#define ATS_HANDS_INIT_OPTIONS_H

#include "common/addr.h"
#include "hands/confine/box.h"

#define OPTIONS_ENV_MAX 112
#define OPTIONS_DENY_MAX 64
#define OPTIONS_UIDS_MAX 16

enum options_level { OPTIONS_NAMESPACES, OPTIONS_UID, OPTIONS_LANDLOCK, OPTIONS_NONE };

struct hands_options {
	bool probe, stdio, help, version;
	int link_fd, listen_fd;		/* -1: absent */
	bool listens, connects;
	struct ats_addr listen, connect;	/* where they are set */
	bool allow_plain;		/* beyond this machine without TLS */
	const char *key_file;		/* or NULL */
	int key_wait_s;			/* for that file to come; 0: it is there */
	int key_fd;			/* or -1 */
	const char *proxy;		/* as given, or NULL: the environment's */
	const char *tls_cert, *tls_key, *tls_ca;	/* files, or NULL */
	uid_t allow_uids[OPTIONS_UIDS_MAX];	/* that may attach there, too */
	size_t nallow_uids;
	const char *workspace, *state_dir, *sandbox;
	const char *retention_s, *heartbeat_s;
	enum options_level min_level;
	bool small;			/* limits=check */
	struct budget budget;		/* 0: what limits= says */
	bool git_config;		/* git_config=1: may be written */
	bool net_host;			/* net=host */
	const char *ro[BOX_GRANTS_MAX];
	size_t nro;
	const char *mask[BOX_MASKS_MAX];	/* "*" is one component */
	size_t nmask;
	const char *deny[OPTIONS_DENY_MAX];	/* lines of a .gitignore */
	size_t ndeny;
	const char *env[OPTIONS_ENV_MAX];
	size_t nenv;
	char **cmd;			/* after --, or NULL */
};

/* Of argv, and of ATS_HANDS_... in the environment, which it takes out of there. Borrows both.
 * -ATS_E_INVAL with a text for the user. */
ATS_NODISCARD int options_parse(int argc, char **argv, struct hands_options *ret,
    struct ats_err *err);
/* Prints it on stdout and exits. */
void options_usage(void) __attribute__((noreturn));

/* ---- options_values.c */
/* One NAME=VALUE, borrowed. */
ATS_NODISCARD int options_set(struct hands_options *o, const char *kv, struct ats_err *err);
ATS_NODISCARD int options_number(const char *text, int max, int *ret, struct ats_err *err);

#endif
