/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to proto/: how a FIELD or PARAM line becomes a struct ats_field. */
#ifndef ATS_PROTO_ROWS_H
#define ATS_PROTO_ROWS_H

#include <stddef.h>

#include "proto/msg.h"

#define ATS_ROW_REQ true
#define ATS_ROW_OPT false
#define ATS_ROW_HAS_U64(s, m) offsetof(s, has_##m)
#define ATS_ROW_HAS_BOOL(s, m) offsetof(s, has_##m)
#define ATS_ROW_HAS_STR(s, m) SIZE_MAX
#define ATS_ROW_HAS_ENUM(s, m) SIZE_MAX
#define ATS_ROW_HAS_RAW(s, m) SIZE_MAX
#define ATS_ROW_HAS_STRV(s, m) offsetof(s, n_##m)
#define ATS_ROW_HAS_ITEMS(s, m) offsetof(s, n_##m)
#define ATS_ROW_HAS_FILE(s, m) SIZE_MAX
#define ATS_ROW_HAS_TIMEOUT(s, m) offsetof(s, has_##m)

/* What a TYPE of a table says beyond how the value looks. */
#define ATS_ROW_TYPE_U64 ATS_FIELD_U64
#define ATS_ROW_TYPE_BOOL ATS_FIELD_BOOL
#define ATS_ROW_TYPE_STR ATS_FIELD_STR
#define ATS_ROW_TYPE_ENUM ATS_FIELD_ENUM
#define ATS_ROW_TYPE_RAW ATS_FIELD_RAW
#define ATS_ROW_TYPE_STRV ATS_FIELD_STRV
#define ATS_ROW_TYPE_ITEMS ATS_FIELD_ITEMS
#define ATS_ROW_TYPE_FILE ATS_FIELD_STR, .role = ATS_ROLE_FILE
#define ATS_ROW_TYPE_TIMEOUT ATS_FIELD_U64, .role = ATS_ROLE_TIMEOUT
/* ITEMS: the rows of ITEM(member). */
#define ATS_ROW_ITEM_U64(m) NULL
#define ATS_ROW_ITEM_BOOL(m) NULL
#define ATS_ROW_ITEM_STR(m) NULL
#define ATS_ROW_ITEM_ENUM(m) NULL
#define ATS_ROW_ITEM_RAW(m) NULL
#define ATS_ROW_ITEM_STRV(m) NULL
#define ATS_ROW_ITEM_FILE(m) NULL
#define ATS_ROW_ITEM_TIMEOUT(m) NULL
#define ATS_ROW_ITEM_ITEMS(m)                                                            \
	&(const struct ats_shape)ATS_SHAPE(#m, params_##m, struct ats_in_##m, "")

#define ATS_ROW(s, member, wire, ftype, req, vmin, vmax, text)                           \
	{ .name = (wire),                                                                \
	  .type = ATS_ROW_TYPE_##ftype,                                                  \
	  .required = ATS_ROW_##req,                                                     \
	  .name_len = sizeof(wire) - 1,                                                  \
	  .offset = offsetof(s, member),                                                 \
	  .has_offset = ATS_ROW_HAS_##ftype(s, member),                                  \
	  .min = (vmin),                                                                 \
	  .max = (vmax),                                                                 \
	  .item = ATS_ROW_ITEM_##ftype(member),                                          \
	  .doc = (text) },
/* Ends each field array, so that a shape without fields is still an array. */
#define ATS_ROW_LAST { .name = NULL }

#define ATS_SHAPE(wire, rows, s, text)                                                   \
	{ .name = (wire),                                                                \
	  .fields = (rows),                                                              \
	  .nfields = ATS_ARRAY_LEN(rows) - 1,                                            \
	  .size = sizeof(s),                                                             \
	  .doc = (text) }
#define ATS_SHAPE_CHECK(rows)                                                            \
	_Static_assert(ATS_ARRAY_LEN(rows) - 1 <= ATS_FIELDS_MAX, "too many fields")

#endif
