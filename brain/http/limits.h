/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HTTP_LIMITS_H
#define ATS_HTTP_LIMITS_H

enum http_limit {
#define LIMIT(name, value, what, then) HTTP_##name = (value),
#include "brain/http/limits.def"
#undef LIMIT
};

#endif
