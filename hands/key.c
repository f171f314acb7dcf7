/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a key's text. Runs in the launcher, which looks whether it is one before there is a
 * box, and in front, which alone keeps it. */
#include "hands/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/digest.h"
#include "common/path.h"
#include "common/secret.h"
#include "proto/prove.h"

#define FIELDS 5u

/* The fields between colons, each ended by a NUL in place; 0 when there are too many. */
static size_t
split(char *text, char *fields[FIELDS])
{
	size_t n = 0;

	for (char *p = text; p != NULL; n++) {
		if (n == FIELDS)
			return 0;
		fields[n] = p;
		p = strchr(p, ':');
		if (p != NULL)
			*p++ = '\0';
	}
	return n;
}

static bool
take_number(const char *text, uint64_t *ret)
{
	int end = 0;

	return *text >= '0' && *text <= '9' && strlen(text) <= 19 &&
	    sscanf(text, "%" SCNu64 "%n", ret, &end) == 1 && text[end] == '\0';
}

static bool
take(char *line, struct key *k, unsigned char bytes[ATS_PROVE_KEY])
{
	char *f[FIELDS];
	size_t n = split(line, f);

	if (n < 4 || strcmp(f[0], "ats1") != 0 || strlen(f[1]) >= sizeof(k->sandbox) ||
	    !ats_id_valid(f[1]) || !take_number(f[2], &k->generation) ||
	    !ats_unhex(f[3], bytes, ATS_PROVE_KEY))
		return false;
	(void)snprintf(k->sandbox, sizeof(k->sandbox), "%s", f[1]);
	k->has_pin = n == 5;
	return n == 4 || ats_unhex(f[4], k->pin, sizeof(k->pin));
}

int
key_parse(char *text, size_t n, struct key *ret, struct ats_err *err)
{
	unsigned char bytes[ATS_PROVE_KEY];
	char line[KEY_TEXT_MAX] = "";
	struct key k = { .secret = NULL };
	size_t len = n;
	int rc;

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len < sizeof(line))
		memcpy(line, text, len);
	if (len < sizeof(line) && strlen(line) == len && take(line, &k, bytes))
		rc = ats_secret_new(bytes, sizeof(bytes), &k.secret, err);
	else
		rc = ats_err_set(err, ATS_E_INVAL, "the key is not one line "
		    "ats1:SANDBOX:GENERATION:KEY[:PIN], as atsctl sandbox enroll prints it");
	ats_secret_wipe(bytes, sizeof(bytes));
	ats_secret_wipe(line, sizeof(line));
	ats_secret_wipe(text, n);
	if (rc == 0)
		*ret = k;
	return rc;
}

int
key_cut_workspace(char *text, size_t *n, char *ret_workspace, size_t size, struct ats_err *err)
{
	static const char name[] = "workspace=";
	char *rest = memchr(text, '\n', *n), path[ATS_PATH_MAX];
	size_t len = rest == NULL ? 0 : (size_t)(text + *n - ++rest);

	while (len > 0 && (rest[len - 1] == '\n' || rest[len - 1] == '\r'))
		len--;
	ret_workspace[0] = '\0';
	if (rest != NULL)
		*n = (size_t)(rest - text);
	if (len == 0)
		return 0;
	if (len > sizeof(name) && len - (sizeof(name) - 1) < size &&
	    memcmp(rest, name, sizeof(name) - 1) == 0 && memchr(rest, '\n', len) == NULL &&
	    memchr(rest, '\0', len) == NULL) {
		len -= sizeof(name) - 1;
		memcpy(ret_workspace, rest + sizeof(name) - 1, len);
		ret_workspace[len] = '\0';
		if (ret_workspace[0] == '/' &&
		    ats_path_join("/", ret_workspace, path, sizeof(path)) == 0 &&
		    strcmp(path, ret_workspace) == 0)
			return 0;
	}
	ret_workspace[0] = '\0';
	return ats_err_set(err, ATS_E_INVAL, "what follows the key's line is not one line "
	    "workspace=PATH, with an absolute path without \"..\" and \"//\"");
}

void
key_done(struct key *k)
{
	ats_secret_free(k->secret);
	*k = (struct key){ .secret = NULL };
}
