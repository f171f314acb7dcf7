/* SPDX-License-Identifier: Apache-2.0
 *
 * How a call ended, in one struct, wherever that comes from: a RESULT, the journal, or the
 * engine itself. All members are borrowed from their source. */
#ifndef ATS_ENGINE_OUTCOME_H
#define ATS_ENGINE_OUTCOME_H

#include <stdint.h>

#include "common/buf.h"
#include "proto/timings.h"

enum outcome_kind { OUTCOME_DONE, OUTCOME_NOT_STARTED, OUTCOME_UNKNOWN };

struct outcome {
	enum outcome_kind kind;
	bool is_error;
	int code;			/* ATS_E_*, 0 none */
	struct ats_slice payload;	/* content: text unless blocks says otherwise */
	struct ats_slice blocks;	/* JSON as in RESULT, or p == NULL */
	struct ats_slice output;	/* JSON, or p == NULL */
	const char *exit_kind;		/* or NULL */
	uint64_t exit_code;
	bool has_exit_code;
	uint64_t here_us;		/* hands' own time in all, or a gateway's; 0 not said */
	struct ats_timings t;
	struct ats_slice ctx_delta;	/* for who asked for it, or p == NULL; never kept */
};

const char *outcome_name(enum outcome_kind kind);	/* its wire name; static */
/* The kind of a wire name; -ATS_E_FIELD for others. unknown is accepted: the caller decides. */
ATS_NODISCARD int outcome_parse(const char *name, enum outcome_kind *ret);

/* A copy in one allocation, which free() ends; NULL without memory. */
struct outcome *outcome_dup(const struct outcome *o);

#endif
