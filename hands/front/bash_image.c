/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that commands print as data: URLs. Runs in hands' front; the bytes are whatever
 * the command printed. Memory is used for them only when an output begins as one, and
 * within a limit. */
#include "hands/front/bash_image.h"

#include "common/base64.h"
#include "hands/front/capture.h"
#include "hands/front/spill.h"

#include <string.h>

#define SCHEME "data:image/"
#define ENCODING ";base64,"
#define TYPE_MAX 32u

static size_t
type_length(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && i < TYPE_MAX &&
	       ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') ||
		   (s[i] != '\0' && strchr(".+-", s[i]) != NULL)))
		i++;
	return i;
}

int
bash_image_decode(
    const char *s, size_t n, struct ats_buf *out, struct image *ret, struct ats_err *err)
{
	size_t k = strlen(SCHEME), start = out->len;
	int rc;

	if (n < k || memcmp(s, SCHEME, k) != 0)
		return 1;
	s += k;
	n -= k;
	if (n >= 3 && memcmp(s, "svg", 3) == 0)
		return 1;
	k = type_length(s, n);
	s += k;
	n -= k;
	k = strlen(ENCODING);
	if (n < k || memcmp(s, ENCODING, k) != 0)
		return 1;
	rc = ats_base64_decode(s + k, n - k, out);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s",
		    rc == -ATS_E_INVAL ? "it is not base64 alone" : ats_err_text(rc));
	/* what it is, the bytes say */
	return image_check(out->data + start, out->len - start, ret, err);
}

/* The whole output again. */
static int
output_of(const struct bash_text *t, struct ats_buf *raw, struct ats_err *err)
{
	uint64_t at = 0, from;
	char *p;
	long n;
	int rc;

	if (t->spill == NULL) {
		rc = capture_raw(t->text, raw);
		return rc < 0 ? ats_err_set(err, -rc, "%s", ats_err_text(rc)) : 0;
	}
	while (at < t->text->total) {
		rc = ats_buf_reserve(raw, (size_t)(t->text->total - at), &p);
		if (rc < 0)
			return ats_err_set(err, -rc, "%s", ats_err_text(rc));
		n = spill_read(t->spill, at, p, (size_t)(t->text->total - at), &from);
		if (n <= 0 || from != at)
			return ats_err_set(err, ATS_E_SYS, "its file cannot be read");
		ats_buf_commit(raw, (size_t)n);
		at += (uint64_t)n;
	}
	return 0;
}

int
bash_image_of(const struct bash_text *t, struct ats_buf *out, struct image *ret,
    struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf raw = { 0 };
	size_t k = strlen(SCHEME);

	if (t->text->head.len < k || memcmp(t->text->head.data, SCHEME, k) != 0)
		return 1;
	if (t->text->total > BASH_IMAGE_URL_MAX)
		return ats_err_set(err, ATS_E_TOOBIG,
		    "it has %llu bytes, and %u at most are looked at",
		    (unsigned long long)t->text->total, BASH_IMAGE_URL_MAX);
	ats_buf_init(&raw, BASH_IMAGE_URL_MAX);
	if (output_of(t, &raw, err) < 0)
		return -err->code;
	return bash_image_decode(raw.data, raw.len, out, ret, err);
}
