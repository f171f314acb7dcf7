/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines that scripts read and print, by proto/schema/provider-*.json. */
#ifndef ATS_ENGINE_SCRIPT_LINE_H
#define ATS_ENGINE_SCRIPT_LINE_H

#include <stdint.h>

#include "common/addr.h"
#include "common/buf.h"

#define SCRIPT_LINE_VERSION 1
#define MADE_ID_MAX 129		/* with the NUL */

struct made {			/* a sandbox that a script made */
	char id[MADE_ID_MAX];	/* its own name of it: letters, digits and . _ : / - */
	char url[ATS_ADDR_MAX];
};

/* What is read, without its line end, into *out, which is initialised here. key: of a sandbox
 * over a network, or NULL. -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int script_line_build(const char *box, const char *workspace,
    uint64_t generation, const struct made *keep, size_t nkeep, const char *key,
    struct ats_buf *out);
ATS_NODISCARD int script_line_id(const char *id, struct ats_buf *out);
/* What was printed: an object of scanned JSON. -ATS_E_PROTO with what is wrong in it. */
ATS_NODISCARD int script_line_made(struct ats_slice line, struct made *ret, struct ats_err *err);
ATS_NODISCARD int script_line_alive(struct ats_slice line, bool *ret, struct ats_err *err);

#endif
