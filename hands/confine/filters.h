/* SPDX-License-Identifier: Apache-2.0
 *
 * The seccomp filters of hands. They stack: init loads BASE, from which all but front comes;
 * the read and write zygotes HELPER, the shell zygote TOOLS; their children what a profile has
 * beyond that, built once in the zygote; what a shell call runs COMMAND, too. front starts
 * before init has one, as the dialer does: FRONT and DIALER hold all. */
#ifndef ATS_HANDS_CONFINE_FILTERS_H
#define ATS_HANDS_CONFINE_FILTERS_H

#include "common/confine/seccomp.h"
#include "hands/confine/box.h"

enum filter { FILTER_BASE, FILTER_FRONT, FILTER_DIALER, FILTER_HELPER, FILTER_TOOLS,
	FILTER_READ, FILTER_WRITE, FILTER_SHELL, FILTER_SHELL_UID,
	FILTER_SHELL_SAMEUID, FILTER_SHELL_UID_NET, FILTER_SHELL_SAMEUID_NET, FILTER_SHELL_UID_OWN,
	FILTER_SHELL_SAMEUID_OWN, FILTER_COMMAND,
	FILTER_COUNT };

extern const char *const filter_names[FILTER_COUNT];
/* The one of a worker of that profile in that box. */
enum filter filter_of(enum ats_profile profile, const struct box *b);
/* The one that a process had loaded before this one; the same where it is the first. */
enum filter filter_below(enum filter f);
ATS_NODISCARD int filter_build(enum filter f, struct ats_seccomp_prog *ret,
    struct ats_err *err);
/* Loads it: BASE, FRONT and DIALER together with ENOSYS for calls that this version does not know,
 * TOOLS with the personality filter. Safe after fork. */
ATS_NODISCARD int filter_load(enum filter f, const struct ats_seccomp_prog *p,
    struct ats_err *err);
/* A last one of a process that runs commands where they have sockets of their own: asks before
 * socket(2), bind(2) and connect(2), where no other filter refuses. The listener is owned in
 * *ret_listener: who has it decides, and when nobody has it the calls fail. */
ATS_NODISCARD int filter_listen(int *ret_listener, struct ats_err *err);
/* Builds and loads. Needs no_new_privs. */
ATS_NODISCARD int filter_install(enum filter f, struct ats_err *err);
/* Readable text for the golden files; returns owned. */
ATS_NODISCARD int filter_text(enum filter f, char **ret_text, struct ats_err *err);
/* Short name for reports: "shell-" and 12 hex digits of a digest of the program and, when this
 * process or one that it comes from has built them, of the one below and of COMMAND. */
void filter_label(enum filter f, const struct ats_seccomp_prog *p, char out[64]);

#endif
