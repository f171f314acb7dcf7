/* SPDX-License-Identifier: Apache-2.0
 *
 * Two hash maps with a cap: uint64 -> pointer, string -> pointer (keys copied). Values
 * are borrowed. Iteration order is unspecified; removing the current entry is allowed.
 * String keys are hashed with a random seed, so that a peer cannot choose collisions. */
#ifndef ATS_COMMON_MAP_H
#define ATS_COMMON_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ats_map;
struct ats_map *ats_map_new(size_t max_entries);	/* returns owned or NULL */
void ats_map_free(struct ats_map *m);			/* NULL is fine; values stay */
/* -ATS_E_FULL, -ATS_E_NOMEM, -ATS_E_EXISTS. */
ATS_NODISCARD int ats_map_put(struct ats_map *m, uint64_t key, void *value);
void *ats_map_get(const struct ats_map *m, uint64_t key);	/* NULL if absent */
void *ats_map_del(struct ats_map *m, uint64_t key);		/* the value or NULL */
/* The same three with a string for a key. */
ATS_NODISCARD int ats_map_put_str(struct ats_map *m, const char *key, void *value);
void *ats_map_get_str(const struct ats_map *m, const char *key);
void *ats_map_del_str(struct ats_map *m, const char *key);
size_t ats_map_count(const struct ats_map *m);
/* for (size_t i = 0; (v = ats_map_each(m, &i)) != NULL; ) */
void *ats_map_each(const struct ats_map *m, size_t *pos);

#endif
