/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings from the vault's lines. Runs in the engine before it is confined; the text comes
 * from the vault, which has checked it. */
#include "brain/engine/settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

struct row {
	const char *name;
	size_t offset;
	uint64_t def, min, max;
};

static const struct row rows[] = {
#define SETTING(sname, sdef, smin, smax, doc)                                            \
	{ #sname, offsetof(struct settings, sname), (sdef), (smin), (smax) },
#include "brain/engine/settings.def"
#undef SETTING
};

static void
set(struct settings *s, const struct row *row, uint64_t value)
{
	memcpy((char *)s + row->offset, &value, sizeof(value));
}

static int
parse_number(const struct row *row, const char *value, uint64_t *ret, struct ats_err *err)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || *value == '-' || v < row->min ||
	    v > row->max)
		return ats_err_set(err, ATS_E_CONFIG, "%s: expected %llu to %llu", row->name,
		    (unsigned long long)row->min, (unsigned long long)row->max);
	*ret = v;
	return 0;
}

static int
parse_line(struct settings *s, char *line, struct ats_err *err)
{
	enum ats_log_level level;
	char *value = strchr(line, '=');
	uint64_t number = 0;
	size_t i;
	int rc;

	if (value == NULL)
		return ats_err_set(err, ATS_E_CONFIG, "a line without '='");
	*value++ = '\0';
	if (strcmp(line, "log_level") == 0) {
		if (ats_log_level_parse(value, &level) < 0)
			return ats_err_set(err, ATS_E_CONFIG, "log_level: no such level");
		ats_log_level_set(level);
		return 0;
	}
	/* An upgrade has put us beside a brain that is still the old one. */
	if (strcmp(line, "version") == 0)
		return strcmp(value, ATS_VERSION) == 0 ? 0 : ats_err_set(err, ATS_E_VERSION,
		    "brain is version %.32s, this ats-engine " ATS_VERSION ": atsctl shutdown, and "
		    "the next brain is of one version", value);
	if (strcmp(line, "sandbox_url") == 0) {
		if (strlen(value) >= sizeof(s->sandbox_url))
			return ats_err_set(err, ATS_E_CONFIG, "sandbox_url: too long");
		memcpy(s->sandbox_url, value, strlen(value) + 1);
		return 0;
	}
	for (i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].name, line) != 0)
			continue;
		rc = parse_number(&rows[i], value, &number, err);
		if (rc == 0)
			set(s, &rows[i], number);
		return rc;
	}
	ats_log(ATS_LOG_WARN, "unknown setting from the vault", "name=%s", line);
	return 0;
}

int
settings_parse(struct settings *ret, const char *text, struct ats_err *err)
{
	struct settings s = { .sandbox_url = "stdio" };
	char *copy, *line, *save = NULL;
	int rc = 0;
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(rows); i++)
		set(&s, &rows[i], rows[i].def);
	copy = strdup(text);
	if (copy == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "settings");
	for (line = strtok_r(copy, "\n", &save); rc == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		rc = parse_line(&s, line, err);
	free(copy);
	if (rc == 0)
		*ret = s;
	return rc;
}

bool
settings_elsewhere(const struct settings *s)
{
	return strcmp(s->sandbox_url, "stdio") != 0;
}

const char *
settings_listen(const struct settings *s)
{
	return strncmp(s->sandbox_url, "listen:", 7) == 0 ? s->sandbox_url + 7 : NULL;
}
