/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking the key. Runs in front at its start; what it reads is the launcher's. */
#include "hands/front/keys.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/secret.h"
#include "hands/front/front.h"

/* As much as a secret may hold, and no more: nothing remains on other pages. */
static int
read_texts(int fd, struct ats_secret **ret, struct ats_err *err)
{
	static char all[ATS_SECRET_MAX];
	ssize_t got = 1;
	size_t n = 0;
	int rc;

	while (got > 0 && n < sizeof(all)) {
		got = ats_fd_read(fd, all + n, sizeof(all) - n);
		if (got > 0)
			n += (size_t)got;
	}
	if (got < 0 || n == 0)
		rc = ats_err_set(err, ATS_E_SYS, "the key could not be read");
	else
		rc = ats_secret_new(all, n, ret, err);
	ats_secret_wipe(all, sizeof(all));
	return rc;
}

int
front_keys_take(struct front *f, int fd, struct ats_err *err)
{
	struct ats_secret *texts = NULL;
	char line[KEY_TEXT_MAX] = "";
	int rc;

	if (fd < 0)
		return 0;
	rc = read_texts(fd, &texts, err);
	ats_fd_close(&fd);
	if (rc < 0)
		return rc;
	strncpy(line, ats_secret_bytes(texts, NULL), sizeof(line) - 1);
	rc = key_parse(line, strlen(line), &f->key, err);
	ats_secret_free(texts);
	return rc;
}

void
front_keys_done(struct front *f)
{
	key_done(&f->key);
}
