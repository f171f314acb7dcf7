/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of a box. Runs in the launcher, which takes them from its command line, and in
 * zygotes and front, which get them from init. */
#include "hands/confine/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define MEMORY_LEAST_MIB 768u	/* of a machine whose half is less, or unknown */

static const struct row {
	const char *name;
	size_t offset;
	uint64_t normal, check, least, most;
} rows[] = {
#define LIMIT(name, normal, check, least, most, whose, what, then)                       \
	{ #name, offsetof(struct budget, name), (normal), (check), (least), (most) },
#include "proto/limits.def"
#undef LIMIT
};

static uint64_t *
value(struct budget *b, const struct row *r)
{
	return (uint64_t *)(void *)((char *)b + r->offset);
}

int
budget_take(struct budget *b, const char *text, size_t name_len, struct ats_err *err)
{
	const struct row *r = rows;
	unsigned long long v;
	char *end = NULL;

	while (r < rows + ATS_ARRAY_LEN(rows) &&
	    (strncmp(r->name, text, name_len) != 0 || r->name[name_len] != '\0'))
		r++;
	if (r == rows + ATS_ARRAY_LEN(rows))
		return 0;
	text += name_len + 1;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
	    (v != 0 && (v < r->least || v > r->most)))
		return ats_err_set(err, ATS_E_INVAL,
		    "%s=%.40s: 0, or a number from %" PRIu64 " to %" PRIu64, r->name, text,
		    r->least, r->most);
	*value(b, r) = v;
	return 1;
}

static uint64_t
half_of_memory_mib(void)
{
	struct sysinfo si;
	uint64_t mib = 0;

	if (sysinfo(&si) == 0)
		mib = ((uint64_t)si.totalram * si.mem_unit) >> 21;
	return mib > MEMORY_LEAST_MIB ? mib : MEMORY_LEAST_MIB;
}

void
budget_complete(struct budget *b, bool check)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (*value(b, &rows[i]) == 0)
			*value(b, &rows[i]) = check ? rows[i].check : rows[i].normal;
	if (b->memory_mib == 0)
		b->memory_mib = half_of_memory_mib();
}

void
budget_to_word(const struct budget *b, char out[BUDGET_WORD])
{
	struct budget copy = *b;
	size_t n = 0;

	_Static_assert(ATS_ARRAY_LEN(rows) * 21 < BUDGET_WORD, "20 digits and a separator");
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		n += (size_t)snprintf(out + n, BUDGET_WORD - n, "%s%" PRIu64, i > 0 ? "," : "",
		    *value(&copy, &rows[i]));
}

int
budget_from_word(struct budget *ret, const char *word)
{
	const char *p = word;
	char *end = NULL;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++, p = end) {
		if (i > 0 && *p++ != ',')
			return -ATS_E_INVAL;
		if (*p < '0' || *p > '9')
			return -ATS_E_INVAL;
		*value(ret, &rows[i]) = strtoull(p, &end, 10);
	}
	return (int)(p - word);
}
