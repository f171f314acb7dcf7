/* SPDX-License-Identifier: Apache-2.0
 *
 * From an answer of ats/exec, ats/tool.call or ats/tool.validate to an exit code. Pure. */
#ifndef ATS_CTL_EXIT_CODE_H
#define ATS_CTL_EXIT_CODE_H

#include "common/json.h"

/* result: the object of ats/exec. The command's code; 128+n for signal n, out of memory
 * and forbidden system calls; 124 timeout; 130 cancelled; 125 anything else. *ret_note:
 * what a person should know, static text, or untouched. */
int exec_exit_code(struct ats_slice result, const char **ret_note);
/* result: the object of ats/tool.call. 0, 1 tool error, 125 not run or unknown. */
int call_exit_code(struct ats_slice result);
/* result: the object of ats/tool.validate. 0 valid, 1 not, 125 anything else. */
int validate_exit_code(struct ats_slice result);

#endif
