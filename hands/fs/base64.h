/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 back to bytes. */
#ifndef ATS_HANDS_FS_BASE64_H
#define ATS_HANDS_FS_BASE64_H

#include "common/buf.h"

/* Appends the bytes; line breaks between the digits do not count. -ATS_E_INVAL when it is
 * not base64 (RFC 4648) or holds nothing; -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int base64_decode(const char *s, size_t n, struct ats_buf *out);

#endif
