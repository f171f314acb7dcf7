/* SPDX-License-Identifier: Apache-2.0
 *
 * Resource limits. Every process of ours runs this; the tables are ours or come from the
 * host's configuration. */
#include "common/confine/limits.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/sanitize.h"

const struct ats_limit ats_limits_daemon[] = {
	{ RLIMIT_CORE, "core", 0 },
	{ RLIMIT_RTPRIO, "rtprio", 0 },
	{ RLIMIT_NICE, "nice", 0 },
	{ RLIMIT_MSGQUEUE, "msgqueue", 0 },
};
const size_t ats_limits_ndaemon = ATS_ARRAY_LEN(ats_limits_daemon);

#define FILES_WANTED 16384u

struct pair {			/* the kernel's struct rlimit64 */
	uint64_t soft, hard;
};

/* The raw call: the C libraries disagree about the type of its second argument. */
static int
limit_call(int resource, const struct pair *new, struct pair *old)
{
	return (int)syscall(SYS_prlimit64, 0, resource, new, old);
}

static int
limit_set(const struct ats_limit *l, struct ats_err *err)
{
	struct pair had, want, back;

	if (limit_call(l->resource, NULL, &had) < 0)
		return ats_err_sys(err, "limits.%s: get", l->name);
	want = had;
	/* SIGXCPU comes at the soft limit, SIGKILL at the hard one. No limit is UINT64_MAX in
	 * the kernel. */
	if (l->value + (l->resource == RLIMIT_CPU ? ATS_LIMIT_CPU_GRACE_S : 0) < want.hard)
		want.hard = l->value + (l->resource == RLIMIT_CPU ? ATS_LIMIT_CPU_GRACE_S : 0);
	want.soft = l->value < want.hard ? l->value : want.hard;
	if (want.soft == had.soft && want.hard == had.hard)
		return 0;	/* it came from the parent so */
	if (limit_call(l->resource, &want, NULL) < 0)
		return ats_err_sys(err, "limits.%s: set", l->name);
	if (limit_call(l->resource, NULL, &back) < 0 || back.soft != want.soft ||
	    back.hard != want.hard)
		return ats_err_set(err, ATS_E_CONFINE, "limits.%s: reads back differently",
		    l->name);
	return 0;
}

int
ats_limits_set(const struct ats_limit *limits, size_t n, struct ats_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (limits[i].value == UINT64_MAX ||
		    (ATS_SANITIZED && limits[i].resource == RLIMIT_DATA))
			continue;
		if (limit_set(&limits[i], err) < 0) {
			if (err != NULL)
				err->code = ATS_E_CONFINE;
			return -ATS_E_CONFINE;
		}
	}
	return 0;
}

void
ats_limits_raise_files(void)
{
	struct pair l;

	if (limit_call(RLIMIT_NOFILE, NULL, &l) < 0 || l.soft >= FILES_WANTED)
		return;
	l.soft = l.hard < FILES_WANTED ? l.hard : FILES_WANTED;
	(void)limit_call(RLIMIT_NOFILE, &l, NULL);
}
