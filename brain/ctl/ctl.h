/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands of atsctl share: global options, exit codes, errors on stderr, option
 * parsing. Process: atsctl. */
#ifndef ATS_CTL_CTL_H
#define ATS_CTL_CTL_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/path.h"

enum ctl_exit {
	CTL_OK = 0, CTL_FAIL = 1, CTL_USAGE = 2, CTL_NOT_RUNNING = 3, CTL_TIMEOUT = 124,
	CTL_NOT_RUN = 125
};

struct ctl;
struct leave;

#define CTL_ANY (-1)	/* words: no end of them, and the first ends the options */
struct ctl_command {
	const char *name;
	int usage_exit;
	int least, most;	/* words besides options */
	const char *usage, *doc;
	int (*run)(struct ctl *c, int argc, char **argv);
};
extern const struct ctl_command ctl_commands[];
extern const size_t ctl_ncommands;

struct ctl {
	const struct ctl_command *command;
	bool json, no_start;
	const char *socket; /* --socket, or NULL; then brain is never started */
	struct ats_places places;
	char vault_path[ATS_PATH_MAX], door_path[ATS_PATH_MAX];
	pid_t brain_pid;		/* started by us, to be reaped; 0 none */
	/* Borrowed, where the end of standard input ends the wait for a brain; else NULL. */
	struct leave *leave;
};
/* Global options before the command. Returns the index of the command in argv, 0 for help
 * or version (printed), or negative with err. */
int ctl_global_options(struct ctl *c, int argc, char **argv, struct ats_err *err);
/* Fills places, vault_path and door_path from --socket (brain.sock, or the directory of
 * both) or from the environment. */
ATS_NODISCARD int ctl_find_places(struct ctl *c, struct ats_err *err);
void ctl_help(FILE *to);
const struct ctl_command *ctl_find_command(const char *name); /* NULL if there is none */

#define COMMAND(ident, name, usage_exit, least, most, usage, doc)                        \
	int cmd_##ident(struct ctl *c, int argc, char **argv);
#include "brain/ctl/commands.def"
#undef COMMAND

/* One line on stderr: "atsctl: ...", control characters as '?', or with --json
 * {"error":{"code","message","exit"}}, {"note":{"message"}} for exit_code 0. The code is that
 * of the exit: usage, not_running, not_run or failed. Returns exit_code. */
int ctl_fail(int exit_code, const char *fmt, ...) ATS_PRINTF(2, 3);
/* The same with a code (of errors.def, or a word of ours). */
int ctl_fail_code(int exit_code, const char *code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* From here on ctl_fail writes JSON. */
void ctl_fail_as_json(void);
/* Whether --json stands in argv[from..argc), before a --: for an error in what is read
 * before it. */
bool ctl_asks_json(int argc, char **argv, int from);
/* "atsctl: COMMAND: err->text". */
int ctl_fail_err(const struct ctl *c, int exit_code, const struct ats_err *err);

/* ---- options of a command ------------------------------------------------------- */
enum ctl_opt_type { CTL_OPT_FLAG, CTL_OPT_STR, CTL_OPT_MS };
struct ctl_opt {
	const char *name;	/* without the dashes */
	char letter;		/* or 0 */
	enum ctl_opt_type type;
	void *to; /* bool, const char * (into argv), uint64_t milliseconds */
};
/* Parses argv[1..argc) for c->command; --json, --no-start, --help are understood everywhere. Moves
 * the words besides options to argv[1..] and returns how many there are, as many as the command
 * takes, or -1 with *ret_exit set: help or an error was printed. */
int ctl_args(struct ctl *c, const struct ctl_opt *opts, size_t nopts, int argc, char **argv,
    int *ret_exit);
/* "250ms", "10s", "2m", "1.5h", "90" (seconds): 1 ms to 24 h. -ATS_E_INVAL. */
ATS_NODISCARD int ctl_parse_ms(const char *s, uint64_t *ret_ms);
/* The n-th fixed word or option ("--x") of a usage text for completion; false at the end.
 * *ret_n is its length. */
bool ctl_usage_word(const char *usage, bool options, size_t n, const char **ret,
    size_t *ret_n);

#endif
