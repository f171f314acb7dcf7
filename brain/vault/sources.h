/* SPDX-License-Identifier: Apache-2.0
 *
 * What the configuration says of credentials and gateways, parsed. The vault decides by it and
 * the spawner, which has it by its fork, starts by it: no message names a program or a file. */
#ifndef ATS_VAULT_SOURCES_H
#define ATS_VAULT_SOURCES_H

#include "common/conf.h"
#include "proto/gateway_config.h"

#define GATEWAYS_MAX 32
#define CREDENTIALS_MAX 64
#define CREDENTIAL_NAME_MAX 33		/* with the NUL */

enum credential_kind { CREDENTIAL_FILE, CREDENTIAL_SYSTEMD, CREDENTIAL_COMMAND };
struct credential_source {
	char name[CREDENTIAL_NAME_MAX];
	enum credential_kind kind;
	char *at;			/* FILE: absolute path; SYSTEMD: its name; else NULL */
	struct ats_conf_strv argv;	/* COMMAND */
};
struct gateway_source {
	struct ats_gw_config conf;
	char *json;			/* its object, for GW_SETUP */
};
struct sources {
	struct credential_source *credentials;
	size_t ncredentials;
	struct gateway_source *v;
	size_t n;
};

/* Parses the two objects, compact texts or NULL. sources_done in any case.
 * -ATS_E_CONFIG with a text that names the key, -ATS_E_NOMEM. */
ATS_NODISCARD int sources_read(struct sources *ret, const char *credentials,
    const char *gateways, struct ats_err *err);
void sources_done(struct sources *g);
/* Of these names, or NULL. */
const struct credential_source *sources_credential(const struct sources *g, const char *name);
const struct gateway_source *sources_gateway(const struct sources *g, const char *name);

#endif
