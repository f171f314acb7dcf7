/* SPDX-License-Identifier: Apache-2.0
 *
 * The host configuration: brain/config.def as a struct, and what of it goes to whom. */
#ifndef ATS_VAULT_CONFIG_H
#define ATS_VAULT_CONFIG_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "brain/policy/rules.h"
#include "brain/vault/sources.h"
#include "common/addr.h"
#include "common/buf.h"
#include "common/conf.h"
#include "common/log.h"
#include "common/path.h"
#include "common/proxy.h"
#include "proto/hooks.h"

#define CONFIG_MAX_BYTES (1u << 20)
#define CONFIG_TEXT_MAX (60u << 10)	/* settings or options in one message */

struct ats_homes;

enum provider {
	PROVIDER_STDIO,
	PROVIDER_UNIX,
	PROVIDER_EXEC,
	PROVIDER_CONNECT,		/* to addr */
	PROVIDER_LISTEN,		/* at addr, where hands connects */
	PROVIDER_SCRIPT,		/* commands of the user's make and remove them */
};
#define CONFIG_U64(m) uint64_t m;
#define CONFIG_BOOL(m) bool m;
#define CONFIG_STR(m) char *m;
#define CONFIG_STRV(m) struct ats_conf_strv m;
#define CONFIG_ENV(m) struct ats_conf_strv m;
#define CONFIG_ARGVS(m) struct ats_conf_argvs m;
#define CONFIG_JSON(m) char *m;
struct config {
#define CONF(key, member, type, def, min, max, text, who, wire, doc) CONFIG_##type(member)
#include "brain/config.def"
#undef CONF
	enum ats_log_level level;	/* log_level, parsed */
	enum provider provider;		/* sandbox_url, parsed, with what is after its colon: */
	const char *provider_at;	/* in sandbox_url */
	struct ats_addr addr;		/* of PROVIDER_CONNECT and PROVIDER_LISTEN */
	struct ats_proxy via;		/* proxy, parsed */
	struct policy_rules *rules;	/* owned; of permissions */
	enum policy_default gateway_policy;	/* gateway_default, parsed */
	struct ats_hooks hooks;	/* hooks_json, parsed */
	struct sources sources;	/* gateways_json and credentials_json, parsed */
};
enum config_who { CONFIG_VAULT = 1, CONFIG_ENGINE = 2, CONFIG_HANDS = 4 };

extern const struct ats_conf_row config_rows[];
extern const size_t config_nrows;

/* Reads path (NULL: PLACES/brain.json, which may be absent), checks all values and the
 * granted paths against homes (see workspace.h). url, unless NULL, comes before the file's.
 * config_done after success. */
ATS_NODISCARD int config_load(struct config *ret, const char *path,
    const struct ats_places *places, const struct ats_homes *homes, const char *url,
    struct ats_err *err);
/* The same from text; name is for messages. */
ATS_NODISCARD int config_parse(struct config *ret, const char *name, const char *text,
    size_t len, const struct ats_homes *homes, struct ats_err *err);
void config_done(struct config *c);
/* Adds the line of text that the mistake of err is in, where err names a key that is found there.
 * file: what err begins with. */
void config_add_line(const char *file, const char *text, struct ats_err *err);
/* What a person should know of a valid configuration: the nth text, or NULL. */
const char *config_warning(const struct config *c, size_t n);
/* One line of how many hooks each event has, none without hooks: what they run is in the file. */
void config_say_hooks(const struct config *c, FILE *to);
/* Of row i: whether it has its default, and whether who is told. */
bool config_is_default(const struct config *c, size_t i);
bool config_is_for(size_t i, enum config_who who);
/* Appends the rows of who as name=value lines. -ATS_E_TOOBIG, -ATS_E_NOMEM. */
ATS_NODISCARD int config_lines(const struct config *c, enum config_who who,
    struct ats_buf *out);

#endif
