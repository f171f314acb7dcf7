/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a script of the configuration: asked of the vault, fed with one line, read and
 * judged here. What it prints is a stranger's: bounded in size and time, one line of strict
 * JSON or an error. */
#ifndef ATS_ENGINE_SCRIPT_H
#define ATS_ENGINE_SCRIPT_H

#include <stdint.h>

#include "common/buf.h"
#include "proto/brain.h"

#define SCRIPT_OUT_MAX 65536u

struct engine;
struct script;
struct scripts;

/* code 0: it ended well, and line is what it printed, without its end, scanned JSON (of a
 * destroy: nothing). ATS_E_NOENT: the user has no command for this step. ATS_E_PROTO:
 * it broke the contract. Else ATS_E_NO_SANDBOX, or why it did not start. */
typedef void script_done(void *ctx, int code, const char *why, struct ats_slice line);

struct scripts *scripts_new(void);	/* owned; NULL without memory */
/* None of them is told. */
void scripts_free(struct scripts *t);
/* Runs the step for box; input is one line. done is called once, later, unless it is dropped;
 * by then the script is gone. NULL: no memory. */
struct script *script_run(struct engine *e, const char *box, enum ats_script_step step,
    struct ats_slice input, uint64_t ms, script_done *done, void *ctx);
/* Kills it; done is another's from now on, who hears what became of it: it may have ended well
 * before. */
void script_let_go(struct script *s, script_done *done, void *ctx);
/* Ends it untold. NULL is fine. */
void script_drop(struct script *s);
/* From the vault. fd (-1: code says why) is taken. */
void scripts_on_started(struct engine *e, uint64_t number, int fd, int code, const char *text);
void scripts_on_ended(struct engine *e, uint64_t number, uint64_t exit_code, uint64_t sig);

#endif
