/* SPDX-License-Identifier: Apache-2.0
 *
 * The key of network links and the files of TLS, on their way from whoever started us to front.
 * The launcher has them until the box stands; init passes on a descriptor that it does not read,
 * and nothing else of the box ever has one. */
#ifndef ATS_HANDS_INIT_KEYS_H
#define ATS_HANDS_INIT_KEYS_H

#include <limits.h>

#include "hands/init/options.h"
#include "hands/key.h"

struct ats_secret;

struct keys {
	struct key key;			/* without one, its secret is NULL */
	struct ats_secret *texts;	/* for front: see FRONT_FD_KEY; or NULL */
	char workspace[PATH_MAX];	/* that came with the key; or "" */
	char kept[2][PATH_MAX];		/* files that stay: no tool may read them; or "" */
};

/* Reads what the options name, closes the key's descriptor. A text that says what to do. ret is
 * zero before, and keys_done's afterwards, also on failure. */
ATS_NODISCARD int keys_read(const struct hands_options *o, struct keys *ret,
    struct ats_err *err);
/* Removes the key's file, if it can be. Not before all else that the options name is fine: the key
 * is shown once, and what is no key is not ours to remove. */
void keys_remove(struct keys *k);
/* A descriptor that gives all once, owned in *ret_fd; -1 when there is nothing to give. */
ATS_NODISCARD int keys_pass(const struct keys *k, int *ret_fd, struct ats_err *err);
void keys_done(struct keys *k);

#endif
