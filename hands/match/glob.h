/* SPDX-License-Identifier: Apache-2.0
 *
 * Wildcards over paths: * ? [a-z] [!a] [[:alpha:]] \x inside one component, ** for any number
 * of components, and (struct glob only) braces. Dots are not special. ? and a class stand for
 * one byte, as for git; in a struct glob for one character. */
#ifndef ATS_HANDS_MATCH_GLOB_H
#define ATS_HANDS_MATCH_GLOB_H

#include <stddef.h>

#include "common/err.h"

#define GLOB_ALTERNATIVES_MAX 1024u
#define GLOB_PARTS_MAX 256u

/* Whether one component's name matches pattern; no allocation, time at most
 * pattern times name. */
bool glob_segment(const char *pattern, size_t pn, const char *name, size_t nn);
bool glob_has_magic(const char *pattern, size_t n);

/* ---- a sequence of components, as .gitignore uses it -------------------------------- */
struct glob_part;
struct glob_seq {
	struct glob_part *parts;	/* owned */
	size_t nparts;
	size_t last_any;		/* the last part that is **, if there is one */
};
/* text without a leading or trailing slash; borrowed until done. -ATS_E_NOMEM, or
 * -ATS_E_TOOBIG over GLOB_PARTS_MAX components. */
ATS_NODISCARD int glob_seq_init(struct glob_seq *s, const char *text, size_t n);
void glob_seq_done(struct glob_seq *s);
/* path: relative, normalised, no trailing slash. A last ** needs at least one component, but
 * nothing at all is matched by stars alone. */
bool glob_seq_match(const struct glob_seq *s, const char *path, size_t n);

/* ---- a whole pattern, as people write it ---------------------------------------------- */
#define GLOB_ANYWHERE 1u	/* without a slash: matches at any depth */
#define GLOB_BRACKET_NAMES 2u	/* a component also matches a name equal to its text: [id].tsx */

struct glob;
/* Returns owned in *ret. -ATS_E_INVAL with a text that shows where, -ATS_E_NOMEM. */
ATS_NODISCARD int glob_new(const char *pattern, unsigned flags, struct glob **ret,
    struct ats_err *err);
void glob_free(struct glob *g);
bool glob_match(const struct glob *g, const char *path, size_t n);
/* Whether something below the directory could match. */
bool glob_may_descend(const struct glob *g, const char *dir, size_t n);

#endif
