/* SPDX-License-Identifier: Apache-2.0
 *
 * Capabilities, no_new_privs, dumpability. Every process of ours runs this before it reads
 * a byte of anybody else. Raw system calls: usable in a child after fork. */
#include "common/confine/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/sanitize.h"

#define SECUREBITS                                                                       \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                 \
	    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |                    \
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

struct capsets {
	uint64_t effective, permitted, inheritable;
};

static int
failed(struct ats_err *err, const char *step)
{
	(void)ats_err_sys(err, "%s", step);
	if (err != NULL)
		err->code = ATS_E_CONFINE;
	return -ATS_E_CONFINE;
}

static int
differs(struct ats_err *err, const char *step)
{
	return ats_err_set(err, ATS_E_CONFINE, "%s: reads back differently", step);
}

static int
sets_get(struct capsets *ret)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	ret->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	ret->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	ret->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

static bool
has_setpcap(void)
{
	return (ats_caps_effective() >> CAP_SETPCAP & 1) != 0;
}

uint64_t
ats_caps_effective(void)
{
	struct capsets s;

	return sets_get(&s) < 0 ? 0 : s.effective;
}

int
ats_caps_no_new_privs(struct ats_err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(err, "caps.no_new_privs");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return differs(err, "caps.no_new_privs");
	return 0;
}

int
ats_caps_undumpable(struct ats_err *err)
{
	if (ATS_SANITIZED)
		return 0;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return failed(err, "caps.undumpable");
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return differs(err, "caps.undumpable");
	return 0;
}

int
ats_caps_lock_securebits(struct ats_err *err)
{
	if (prctl(PR_SET_SECUREBITS, (unsigned long)SECUREBITS, 0, 0, 0) < 0)
		return failed(err, "caps.securebits");
	if (prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) != SECUREBITS)
		return differs(err, "caps.securebits");
	return 0;
}

/* 1 or 0, and -1 past the last capability of this kernel. */
static int
bound_has(int cap)
{
	return prctl(PR_CAPBSET_READ, (unsigned long)cap, 0, 0, 0);
}

int
ats_caps_bound(uint64_t keep, struct ats_err *err)
{
	for (int cap = 0; cap < 64; cap++) {
		int rc, has;

		if ((keep >> cap & 1) != 0)
			continue;
		rc = prctl(PR_CAPBSET_DROP, (unsigned long)cap, 0, 0, 0);
		has = bound_has(cap);
		if (has < 0)
			break;
		if (has != 0)
			return rc < 0 ? failed(err, "caps.bounding") :
			    differs(err, "caps.bounding");
	}
	return 0;
}

int
ats_caps_keep(uint64_t keep, struct ats_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	struct capsets s;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return failed(err, "caps.ambient");
	for (unsigned i = 0; i < 2; i++)
		data[i].permitted = data[i].effective = (uint32_t)(keep >> (32 * i));
	if (syscall(SYS_capset, &head, data) < 0)
		return failed(err, "caps.capset");
	if (sets_get(&s) < 0 || s.effective != keep || s.permitted != keep ||
	    s.inheritable != 0)
		return differs(err, "caps.capset");
	return 0;
}

int
ats_caps_verify_empty(bool bounding, struct ats_err *err)
{
	struct capsets s;

	if (sets_get(&s) < 0)
		return failed(err, "caps.verify");
	if ((s.effective | s.permitted | s.inheritable) != 0)
		return ats_err_set(err, ATS_E_CONFINE, "caps.verify: a set is not empty");
	for (int cap = 0; cap < 64; cap++) {
		int is = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, (unsigned long)cap, 0, 0);

		if (is < 0 && errno == EINVAL && cap > 0)
			break;	/* past the last one of this kernel */
		if (is != 0)
			return ats_err_set(err, ATS_E_CONFINE,
			    "caps.verify: capability %d is ambient", cap);
		if (bounding && bound_has(cap) != 0)
			return ats_err_set(err, ATS_E_CONFINE,
			    "caps.verify: capability %d is in the bounding set", cap);
	}
	return 0;
}

int
ats_caps_drop_all(struct ats_err *err)
{
	bool able = has_setpcap();
	int rc = 0;

	if (able) {
		rc = ats_caps_lock_securebits(err);
		if (rc == 0)
			rc = ats_caps_bound(0, err);
	} else if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
		return ats_err_set(err, ATS_E_CONFINE,
		    "caps.bounding: needs CAP_SETPCAP or no_new_privs");
	}
	if (rc == 0)
		rc = ats_caps_keep(0, err);
	if (rc == 0)
		rc = ats_caps_verify_empty(able, err);
	return rc;
}
