/* SPDX-License-Identifier: Apache-2.0
 *
 * --option NAME=VALUE. Runs in the launcher, before anything else. */
#include "hands/init/options.h"

#include <stdlib.h>
#include <string.h>

#include "hands/match/ignore.h"

int
options_number(const char *text, int max, int *ret, struct ats_err *err)
{
	char *end = NULL;
	long v = strtol(text, &end, 10);

	if (end == text || *end != '\0' || v < 0 || v > max)
		return ats_err_set(
		    err, ATS_E_INVAL, "%s: not a number from 0 to %d", text, max);
	*ret = (int)v;
	return 0;
}

static int
set_level(struct hands_options *o, const char *v, struct ats_err *err)
{
	static const char *const names[] = { "namespaces", "uid+landlock", "landlock",
		"none" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++)
		if (strcmp(v, names[i]) == 0) {
			o->min_level = (enum options_level)i;
			return 0;
		}
	return ats_err_set(err, ATS_E_INVAL,
	    "min_level=%s: namespaces, uid+landlock, landlock or none", v);
}

static int
add_deny(struct hands_options *o, const char *v, struct ats_err *err)
{
	struct ignore_rules *rule = ignore_parse(v, strlen(v));

	ignore_free(rule);
	if (rule == NULL || strchr(v, '\n') != NULL || o->ndeny == OPTIONS_DENY_MAX)
		return ats_err_set(err, ATS_E_INVAL,
		    "deny=%s: one rule as in a .gitignore, %d at most", v, OPTIONS_DENY_MAX);
	o->deny[o->ndeny++] = v;
	return 0;
}

int
options_set(struct hands_options *o, const char *kv, struct ats_err *err)
{
	const char *v = strchr(kv, '=');
	size_t n = v != NULL ? (size_t)(v - kv) : 0;
	int seconds = 0, rc;

	if (v == NULL)
		return ats_err_set(
		    err, ATS_E_INVAL, "--option %s: expected name=value", kv);
	v++;
	if (n == 9 && memcmp(kv, "min_level", n) == 0)
		return set_level(o, v, err);
	if (n == 11 && memcmp(kv, "retention_s", n) == 0) {
		o->retention_s = v;
		return options_number(v, 86400, &seconds, err);
	}
	if (n == 11 && memcmp(kv, "heartbeat_s", n) == 0) {
		o->heartbeat_s = v;
		return *v == '0' ? ats_err_set(err, ATS_E_INVAL, "heartbeat_s=%s: from 1", v) :
		    options_number(v, 3600, &seconds, err);
	}
	if (n == 6 && memcmp(kv, "limits", n) == 0) {
		o->small = strcmp(v, "check") == 0;
		if (!o->small && strcmp(v, "default") != 0)
			return ats_err_set(
			    err, ATS_E_INVAL, "limits=%s: check or default", v);
		return 0;
	}
	if (n == 3 && memcmp(kv, "net", n) == 0) {
		o->net_host = strcmp(v, "host") == 0;
		return o->net_host || strcmp(v, "off") == 0 ? 0 :
		    ats_err_set(err, ATS_E_INVAL, "net=%s: off or host", v);
	}
	if (n == 2 && memcmp(kv, "ro", n) == 0) {
		if (*v != '/' || o->nro == BOX_GRANTS_MAX)
			return ats_err_set(err, ATS_E_INVAL,
			    "ro=%s: an absolute path, %d at "
			    "most",
			    v, BOX_GRANTS_MAX);
		o->ro[o->nro++] = v;
		return 0;
	}
	if (n == 10 && memcmp(kv, "git_config", n) == 0) {
		o->git_config = strcmp(v, "1") == 0;
		return o->git_config || strcmp(v, "0") == 0 ? 0 :
		    ats_err_set(err, ATS_E_INVAL, "git_config=%s: 0 or 1", v);
	}
	if (n == 4 && memcmp(kv, "mask", n) == 0) {
		if (*v != '/' || o->nmask == BOX_MASKS_MAX)
			return ats_err_set(err, ATS_E_INVAL,
			    "mask=%s: an absolute path, %d at most", v, BOX_MASKS_MAX);
		o->mask[o->nmask++] = v;
		return 0;
	}
	if (n == 4 && memcmp(kv, "deny", n) == 0)
		return add_deny(o, v, err);
	if (n == 3 && memcmp(kv, "env", n) == 0) {
		if (strchr(v, '=') == NULL || o->nenv == OPTIONS_ENV_MAX)
			return ats_err_set(err, ATS_E_INVAL,
			    "env=%s: expected K=V, %d at most", v, OPTIONS_ENV_MAX);
		o->env[o->nenv++] = v;
		return 0;
	}
	rc = budget_take(&o->budget, kv, n, err);
	return rc > 0 ? 0 : rc < 0 ? rc :
	    ats_err_set(err, ATS_E_INVAL, "unknown option %s; see ats-hands --help", kv);
}
