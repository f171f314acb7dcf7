/* SPDX-License-Identifier: Apache-2.0
 *
 * What remains for whoever takes a gateway over through what its upstream says. */
#ifndef ATS_GATEWAY_CONFINE_H
#define ATS_GATEWAY_CONFINE_H

#include "common/confine/seccomp.h"

struct ats_gw_config;

/* Once, before the first byte of an upstream. What speaks HTTP itself may connect to the ports of
 * its address and of DNS, read what names and certificates (ca, or NULL) need, and make the calls
 * of a list.
 * What runs the user's programs (kind command, and mcp with argv) can only be given less rights
 * than the user has: no new ones. -ATS_E_CONFINE. */
ATS_NODISCARD int confine_gateway(const struct ats_gw_config *c, const char *ca,
    struct ats_err *err);
/* The filter of the former, for tests. */
extern const struct ats_seccomp_table confine_http_table;

#endif
