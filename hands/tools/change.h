/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tools that change a file have in common: Write, Edit. */
#ifndef ATS_HANDS_TOOLS_CHANGE_H
#define ATS_HANDS_TOOLS_CHANGE_H

#include "common/digest.h"
#include "hands/fs/diff.h"
#include "hands/fs/file.h"
#include "hands/fs/text.h"

#define CHANGE_FILE_MAX (64u << 20)	/* bytes of a file that can be edited */

struct change {
	const struct tool_env *env;
	struct fs_place pl;		/* as asked; the key of read-state */
	struct fs_target t;		/* t.fd < 0: the file does not exist */
	const struct tool_read *seen;	/* or NULL */
	char *old;			/* content, owned; NULL until change_load */
	size_t old_n;
	char sha[ATS_SHA256_HEX];	/* of old */
	bool in_place;			/* how change_commit wrote */
};
/* Finds, checks and locks the target (check_only: does not lock). change_end in any case. */
ATS_NODISCARD int change_open(struct change *c, const struct tool_env *env, const char *name,
    struct ats_err *err);
/* Frees it; rc < 0 becomes the tool's error. Returns what run returns. */
int change_end(struct change *c, int rc, const struct ats_err *err, struct tool_result *out);
/* Reads the whole old content and its hash. */
ATS_NODISCARD int change_load(struct change *c, struct ats_err *err);
/* After change_load: -ATS_E_NOT_READ, or -ATS_E_CHANGED when the content is not what the
 * session last saw. */
ATS_NODISCARD int change_check_seen(const struct change *c, struct ats_err *err);
/* The content is what the session last saw; where that was a part: its size and time are. */
bool change_is_as_seen(const struct change *c);
/* Makes parents, replaces the content and records the new read-state in out. Refused in a
 * check. */
ATS_NODISCARD int change_commit(struct change *c, const char *content, size_t n,
    struct tool_result *out, struct ats_err *err);
/* Records what is there as seen: for a change that had been made already. */
ATS_NODISCARD int change_saw_old(const struct change *c, struct tool_result *out);
/* The structured output of a check that found n changes that can be made. */
ATS_NODISCARD int change_would(const struct change *c, size_t n, struct tool_result *out);
/* The file is written, and out has no room to say so. Returns -ATS_E_NOMEM. */
int change_unreported(const struct change *c, struct ats_err *err);
/* The end of the text (notes, the diff) and the structured output. t NULL: no diff. */
ATS_NODISCARD int change_report(const struct change *c, const struct diff_texts *t,
    const struct match_edit *edits, size_t n, struct tool_result *out);

#endif
