/* SPDX-License-Identifier: Apache-2.0
 *
 * Containers and JSON text with failing allocations. */
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "tests/fault/fault.h"

static void
maps(void)
{
	struct ats_map *m = ats_map_new(1000);
	struct ats_map *named = ats_map_new(1000);
	uint64_t i, n = 0;

	if (fault_ptr(m, "map") && fault_ptr(named, "map")) {
		for (i = 1; i <= 200; i++)
			n += fault_ok(ats_map_put(m, i, &n), "put");
		if (ats_map_count(m) != n)
			exit(FAULT_BROKEN);
		(void)fault_ok(ats_map_put_str(named, "key", &n), "put_str");
	}
	ats_map_free(m);
	ats_map_free(named);
}

static void
text(void)
{
	struct ats_buf b;
	struct ats_json_w w;
	size_t i;

	ats_buf_init(&b, 1u << 20);
	ats_json_w_init(&w, &b);
	ats_json_w_array(&w, NULL);
	for (i = 0; i < 300; i++)
		ats_json_w_str(&w, NULL, "text \" \xff");
	ats_json_w_end(&w);
	if (fault_ok(w.rc, "writer") && ats_json_scan(b.data, b.len, NULL) < 0)
		exit(FAULT_BROKEN);
	ats_buf_done(&b);
}

int
main(void)
{
	maps();
	text();
	return fault_end();
}
