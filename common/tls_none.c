/* SPDX-License-Identifier: Apache-2.0
 *
 * A build with TLS=no: what asks for TLS hears that there is none. Nothing is made, so that
 * nothing is freed. */
#include "common/fd.h"
#include "common/tls.h"
#include "common/wire_private.h"

static int
none(struct ats_err *err)
{
	return ats_err_set(err, ATS_E_UNAVAILABLE, "this build has no TLS (TLS=no)");
}

int
ats_tls_new(const struct ats_tls_plan *plan, struct ats_tls **ret, struct ats_err *err)
{
	(void)plan;
	(void)ret;
	return none(err);
}

void
ats_tls_free(struct ats_tls *t)
{
	(void)t;
}

int
ats_tls_seed_pin(const unsigned char seed[ATS_TLS_SEED], unsigned char ret_pin[ATS_TLS_PIN],
    struct ats_err *err)
{
	(void)seed;
	(void)ret_pin;
	return none(err);
}

int
ats_wire_tls_new(int fd, const struct ats_wire_plan *plan, struct ats_wire **ret,
    struct ats_err *err)
{
	(void)plan;
	(void)ret;
	ats_fd_close(&fd);
	return none(err);
}
