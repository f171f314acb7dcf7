/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of brain.def, and sending by them. Runs in vault, spawner, engine and atsctl;
 * what is sent comes from the process itself. */
#include "proto/brain.h"

#include <stdarg.h>
#include <string.h>

const struct ats_ipc_row ats_brain_rows[] = {
#define MSG(mname, number, who, msig, nfds, doc)                                         \
	{ .type = (number), .name = #mname, .sig = (msig), .from = ATS_BRAIN_##who, .fds = (nfds) },
#include "proto/brain.def"
#undef MSG
};
const size_t ats_brain_nrows = ATS_ARRAY_LEN(ats_brain_rows);

#define MSG(name, number, from, sig, fds, doc)                                           \
	_Static_assert(sizeof(sig) - 1 <= ATS_IPC_FIELDS, #name ": fields");             \
	_Static_assert((fds) <= ATS_FD_PASS_MAX, #name ": descriptors");
#include "proto/brain.def"
#undef MSG

/* A number that is used twice is a doubled case label: it does not compile. */
static const char *
signature_of(enum ats_brain_msg type)
{
	switch ((int)type) {
#define MSG(name, number, from, sig, fds, doc)                                           \
	case (number):                                                                   \
		return sig;
#include "proto/brain.def"
#undef MSG
	default:
		return NULL;
	}
}

int
ats_brain_send(int sock, enum ats_brain_msg type, uint32_t seq, const int *fds,
    size_t nfds, ...)
{
	const char *sig = signature_of(type);
	static struct ats_ipc_msg m;	/* one thread; too large for a small stack */
	va_list ap;
	unsigned i;

	if (sig == NULL || nfds > ATS_FD_PASS_MAX)
		return -ATS_E_PROTO;
	m.type = (uint16_t)type;
	m.seq = seq;
	m.n = 0;
	m.nfds = nfds;
	if (nfds > 0)
		memcpy(m.fds, fds, nfds * sizeof(*fds));
	va_start(ap, nfds);
	for (i = 0; sig[i] != '\0'; i++) {
		m.u[i] = 0;
		m.s[i] = NULL;
		if (sig[i] == 'u')
			m.u[i] = va_arg(ap, uint64_t);
		else
			m.s[i] = va_arg(ap, const char *);
		m.n++;
	}
	va_end(ap);
	return ats_ipc_send(sock, ats_brain_rows, ats_brain_nrows, &m);
}
