/* SPDX-License-Identifier: Apache-2.0
 *
 * permissions.* of the configuration: rules are read when the file is, so that one that says
 * nothing ends the start with its text, and config check shows it. Runs in ats-brain before it
 * has children; the user's own file is the input. */
#include "brain/vault/permissions.h"

#include <string.h>

#include "brain/vault/config.h"

/* A rule that stands in another list as well says two things; the one that lost would be dead. */
static int
check_others(const struct config *c, const char *rule, enum policy_effect effect,
    struct ats_err *err)
{
	static const char *const lists[] = { [POLICY_DENY] = "deny", [POLICY_ASK] = "ask",
		[POLICY_ALLOW] = "allow" };
	enum policy_effect other;
	const char *text;

	for (size_t i = 0; (text = policy_rules_text(c->rules, i, &other)) != NULL; i++)
		if (other != effect && strcmp(text, rule) == 0)
			return ats_err_set(err, ATS_E_CONFIG, "\"%.200s\" stands in "
			    "\"permissions.%s\", too, which wins: take it out of one of them",
			    rule, lists[other]);
	return 0;
}

static int
read_list(struct config *c, const char *name, const char *key, enum policy_effect effect,
    const struct ats_conf_strv *list, struct ats_err *err)
{
	struct ats_err why = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		int rc = check_others(c, list->v[i], effect, &why);

		if (rc == 0)
			rc = policy_rules_add(c->rules, effect, list->v[i], &why);
		if (rc == -ATS_E_NOMEM)
			return ats_err_set(err, ATS_E_NOMEM, "%s", why.text);
		if (rc < 0)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%.200s: \"permissions.%s\": entry %zu: %s", name, key, i + 1,
			    why.text);
	}
	return 0;
}

int
config_read_permissions(struct config *c, const char *name, struct ats_err *err)
{
	int rc;

	if (!policy_default_parse(c->gateway_default, &c->gateway_policy))
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"permissions.gateway_default\" must be allow_reads, ask, deny or allow",
		    name);
	c->rules = policy_rules_new();
	if (c->rules == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "permissions");
	rc = read_list(c, name, "deny", POLICY_DENY, &c->permissions_deny, err);
	if (rc == 0)
		rc = read_list(c, name, "ask", POLICY_ASK, &c->permissions_ask, err);
	if (rc == 0)
		rc = read_list(c, name, "allow", POLICY_ALLOW, &c->permissions_allow, err);
	return rc;
}
