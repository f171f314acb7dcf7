/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets on pages of their own. Runs in the vault and in a gateway. Nobody outside
 * controls a length or an address here. */
#include "common/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/fault.h"

struct ats_secret {
	unsigned char *pages;
	size_t mapped, len;
};

void
ats_secret_wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}

void
ats_secret_free(struct ats_secret *s)
{
	if (s == NULL)
		return;
	if (s->pages != NULL) {
		ats_secret_wipe(s->pages, s->mapped);
		(void)munmap(s->pages, s->mapped);
	}
	free(s);
}

/* Pages for n bytes and a NUL, protected before anything is written to them. */
static int
secret_map(size_t n, struct ats_secret **ret, struct ats_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ats_secret *s;
	void *p;

	if (n == 0 || n > ATS_SECRET_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "secret of %zu bytes, at most %u", n,
		    ATS_SECRET_MAX);
	s = ats_calloc(1, sizeof(*s));
	if (s == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "secret: out of memory");
	s->len = n;
	s->mapped = (n + 1 + page - 1) / page * page;
	p = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		free(s);
		return ats_err_set(err, ATS_E_NOMEM, "secret: out of memory");
	}
	s->pages = p;
	if (mlock(p, s->mapped) < 0 || madvise(p, s->mapped, MADV_DONTDUMP) < 0 ||
	    madvise(p, s->mapped, MADV_WIPEONFORK) < 0) {
		int rc = ats_err_sys(err, "secret: cannot lock its memory");

		ats_secret_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int
ats_secret_new(void *p, size_t n, struct ats_secret **ret, struct ats_err *err)
{
	struct ats_secret *s = NULL;
	int rc = secret_map(n, &s, err);

	if (rc == 0) {
		memcpy(s->pages, p, n);
		*ret = s;
	}
	ats_secret_wipe(p, n);
	return rc;
}

int
ats_secret_random(size_t n, struct ats_secret **ret, struct ats_err *err)
{
	struct ats_secret *s = NULL;
	size_t have = 0;
	int rc = secret_map(n, &s, err);

	while (rc == 0 && have < n) {
		ssize_t got = getrandom(s->pages + have, n - have, 0);

		if (got < 0)
			rc = ats_err_sys(err, "secret: getrandom");
		else
			have += (size_t)got;
	}
	if (rc < 0) {
		ats_secret_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

const void *
ats_secret_bytes(const struct ats_secret *s, size_t *ret_len)
{
	if (ret_len != NULL)
		*ret_len = s->len;
	return s->pages;
}

bool
ats_secret_equal(const struct ats_secret *s, const void *p, size_t n)
{
	const volatile unsigned char *a = s->pages, *b = p;
	unsigned char differs = 0;

	if (n != s->len)
		return false;
	for (size_t i = 0; i < n; i++)
		differs = (unsigned char)(differs | (a[i] ^ b[i]));
	return differs == 0;
}
