/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading them. Runs in the vault before it is confined. */
#include "brain/vault/lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"

int
lines_load(int dir, const char *name, size_t max, bool (*take)(void *ctx, char *line), void *ctx,
    struct ats_err *err)
{
	char *text = NULL, *save = NULL;
	size_t len, bad = 0;
	int rc = ats_fd_slurp(dir, name, max, &text, &len, err);

	if (rc == -ATS_E_NOENT)
		return 0;
	if (rc < 0)
		return rc;
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		bad += !take(ctx, line);
	if (bad > 0)
		ats_log(ATS_LOG_WARN, "lines of a file were ignored", "file=%s lines=%zu", name,
		    bad);
	free(text);
	return 0;
}
