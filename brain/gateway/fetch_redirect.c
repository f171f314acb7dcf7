/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an answer sends to. Runs in ats-gateway; a Location is the upstream's. */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "brain/gateway/fetch.h"
#include "proto/gateway_config.h"

static bool
part_is(CURLU *u, CURLUPart part, unsigned flags, const char *want)
{
	char *got = NULL;
	bool same = curl_url_get(u, part, &got, flags) == CURLUE_OK && strcasecmp(got, want) == 0;

	curl_free(got);
	return same;
}

static bool
same_origin(CURLU *u, const struct ats_gw_config *c)
{
	char host[sizeof(c->url.host) + 2], port[8];
	bool six = strchr(c->url.host, ':') != NULL;

	(void)snprintf(host, sizeof(host), "%s%s%s", six ? "[" : "", c->url.host, six ? "]" : "");
	(void)snprintf(port, sizeof(port), "%u", c->url.port);
	return part_is(u, CURLUPART_SCHEME, 0, c->url.tls ? "https" : "http") &&
	    part_is(u, CURLUPART_HOST, 0, host) &&
	    part_is(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, port);
}

static int
add_part(CURLU *u, CURLUPart part, const char *before, struct ats_buf *out)
{
	char *got = NULL;
	int rc = 0;

	if (curl_url_get(u, part, &got, 0) == CURLUE_OK) {
		rc = ats_buf_add_str(out, before);
		if (rc == 0)
			rc = ats_buf_add_str(out, got);
	}
	curl_free(got);
	return rc;
}

int
fetch_redirect(const struct ats_gw_config *c, const char *target, const char *location,
    struct ats_buf *out)
{
	struct ats_buf url ATS_CLEANUP_BUF = { 0 };
	CURLU *u = curl_url();
	int rc = u == NULL ? -ATS_E_NOMEM : 0, same = 0;

	ats_buf_init(&url, FETCH_URL_MAX);
	if (rc == 0)
		rc = fetch_origin(&url, c);
	if (rc == 0)
		rc = ats_buf_add_str(&url, target);
	if (rc == 0 && (curl_url_set(u, CURLUPART_URL, url.data, CURLU_PATH_AS_IS) != CURLUE_OK ||
	        curl_url_set(u, CURLUPART_URL, location, CURLU_URLENCODE) != CURLUE_OK))
		rc = -ATS_E_INVAL;
	if (rc == 0) {
		same = same_origin(u, c);
		rc = same ? add_part(u, CURLUPART_PATH, "", out)
			  : add_part(u, CURLUPART_HOST, "", out);
	}
	if (rc == 0 && same)
		rc = add_part(u, CURLUPART_QUERY, "?", out);
	curl_url_cleanup(u);
	return rc < 0 ? rc : same;
}
