/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a gateway's requests go, how the credential goes with them, and which headers are fixed.
 * Runs in ats-brain at its start and in ats-gateway; the user's own file is the input. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "proto/gateway_config_in.h"

static bool
is_host(const char *s)
{
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("-._", *s) == NULL)
			return false;
	return true;
}

/* ":PORT" up to the end of the authority, or nothing. */
static int
take_port(const char *s, const char *end, struct ats_gw_url *u)
{
	unsigned long n = 0;

	u->port = u->tls ? 443 : 80;
	if (s == end)
		return 0;
	if (*s++ != ':' || s == end || end - s > 5)
		return -1;
	for (; s < end; s++) {
		if (!isdigit((unsigned char)*s))
			return -1;
		n = n * 10 + (unsigned long)(*s - '0');
	}
	if (n < 1 || n > 65535)
		return -1;
	u->port = (uint16_t)n;
	return 0;
}

/* What stands between "//" and the next '/'. */
static int
take_authority(const char *s, size_t n, struct ats_gw_url *u)
{
	bool six = n > 0 && s[0] == '[';
	const char *host = s + six, *end = s + n;
	const char *host_end = memchr(host, six ? ']' : ':', (size_t)(end - host));
	struct in6_addr addr;
	size_t len;

	if (host_end == NULL && six)
		return -1;
	if (host_end == NULL)
		host_end = end;
	len = (size_t)(host_end - host);
	if (len == 0 || len >= sizeof(u->host))
		return -1;
	for (size_t i = 0; i < len; i++)
		u->host[i] = (char)tolower((unsigned char)host[i]);
	u->host[len] = '\0';
	if (six ? inet_pton(AF_INET6, u->host, &addr) != 1 : !is_host(u->host))
		return -1;
	return take_port(host_end + six, end, u);
}

static int
parse_url(const struct ats_gw_in *in, const char *key, char *s, struct ats_gw_url *u)
{
	struct ats_gw_part part = { .text = NULL };
	struct ats_gw_template path = { &part, 1 };
	char *rest;
	size_t n;

	if (strncmp(s, "https://", 8) != 0 && strncmp(s, "http://", 7) != 0)
		return ats_gw_wrong(in, key, "must begin with https:// or http://");
	if (strpbrk(s, "@?#{}\\") != NULL)
		return ats_gw_wrong(in, key,
		    "must be a scheme, a host, a port and a path alone: no user, ?, # or {}");
	u->tls = s[4] == 's';
	s += u->tls ? 8 : 7;
	n = strcspn(s, "/");
	if (take_authority(s, n, u) < 0)
		return ats_gw_wrong(in, key, "\"%.*s\" is no host, or host and port",
		    (int)(n < 100 ? n : 100), s);
	rest = s + n;
	n = strlen(rest);
	while (n > 0 && rest[n - 1] == '/')
		rest[--n] = '\0';
	free(u->path);
	u->path = ats_strdup(rest);
	if (u->path == NULL)
		return ats_gw_nomem(in);
	part.text = rest;
	return n == 0 ? 0 : ats_gw_check_path(in, key, &path);
}

int
ats_gw_take_url(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct ats_gw_config *c = to;
	char *s = NULL;
	int rc = ats_gw_take_str(in, key, v, &s);

	if (rc == 0)
		rc = parse_url(in, key, s, &c->url);
	c->has_url = rc == 0;
	free(s);
	return rc;
}

/* RFC 9110 token. */
static bool
is_token(const char *s)
{
	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("!#$%&'*+-.^_`|~", *s) == NULL)
			return false;
	return true;
}

static int
set_auth(const struct ats_gw_in *in, const char *key, const char *s, struct ats_gw_config *c)
{
	static const struct {
		const char *word;	/* with a ':' a name follows */
		enum ats_gw_auth auth;
	} all[] = {
		{ "none", ATS_GW_AUTH_NONE }, { "bearer", ATS_GW_AUTH_BEARER },
		{ "basic:", ATS_GW_AUTH_BASIC }, { "header:", ATS_GW_AUTH_HEADER },
		{ "query:", ATS_GW_AUTH_QUERY },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(all); i++) {
		size_t n = strlen(all[i].word);
		bool named = all[i].word[n - 1] == ':';

		if (named ? strncmp(s, all[i].word, n) != 0 || s[n] == '\0' :
		    strcmp(s, all[i].word) != 0)
			continue;
		if (all[i].auth == ATS_GW_AUTH_HEADER && !is_token(s + n))
			return ats_gw_wrong(in, key, "\"%.100s\" is no name of a header", s + n);
		if (all[i].auth == ATS_GW_AUTH_BASIC && strchr(s + n, ':') != NULL)
			return ats_gw_wrong(in, key, "a user's name has no :");
		c->auth = all[i].auth;
		if (named && (c->auth_name = ats_strdup(s + n)) == NULL)
			return ats_gw_nomem(in);
		return 0;
	}
	return ats_gw_wrong(in, key,
	    "must be bearer, basic:USER, header:NAME, query:NAME or none");
}

int
ats_gw_take_auth(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	char *s = NULL;
	int rc = ats_gw_take_str(in, key, v, &s);

	if (rc == 0)
		rc = set_auth(in, key, s, to);
	free(s);
	return rc;
}

int
ats_gw_take_headers(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	/* What frames the request or belongs to the connection is not the file's to say. */
	static const char *const own[] = { "host", "content-length", "transfer-encoding",
		"connection", "upgrade", "te", "trailer", "expect", "keep-alive",
		"accept-encoding", "proxy-authorization", "proxy-connection" };
	struct ats_gw_pairs *p = to;
	int rc = ats_gw_take_pairs(in, key, v, to);

	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		const char *name = p->v[i].name;

		if (!is_token(name))
			return ats_gw_wrong(in, key, "\"%.100s\" is no name of a header", name);
		for (size_t k = 0; k < ATS_ARRAY_LEN(own); k++)
			if (strcasecmp(name, own[k]) == 0)
				return ats_gw_wrong(in, key,
				    "%.100s is set by the request itself; remove it", name);
		for (const char *s = p->v[i].value; *s != '\0'; s++)
			if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
				return ats_gw_wrong(in, key,
				    "the value of %.100s holds a line break or a control character",
				    name);
	}
	return rc;
}
