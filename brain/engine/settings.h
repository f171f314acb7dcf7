/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's settings, one number a row of settings.def. */
#ifndef ATS_ENGINE_SETTINGS_H
#define ATS_ENGINE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define SETTINGS_URL_MAX 256

struct settings {
	char sandbox_url[SETTINGS_URL_MAX];
#define SETTING(name, def, min, max, doc) uint64_t name;
#include "brain/engine/settings.def"
#undef SETTING
};

/* Sets the defaults, then reads text: lines of name=value (the vault's, checked by it).
 * "log_level" is a word and sets the log's level; "sandbox_url" is kept as it is. A value out of
 * range is -ATS_E_CONFIG; a name that is not known here is logged and left out. */
ATS_NODISCARD int settings_parse(struct settings *ret, const char *text, struct ats_err *err);

/* Whether hands was started by somebody else: it may live on when its link is lost. */
bool settings_elsewhere(const struct settings *s);
/* The address where hands comes in by itself, or NULL. */
const char *settings_listen(const struct settings *s);

#endif
