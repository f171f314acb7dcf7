/* SPDX-License-Identifier: Apache-2.0
 *
 * The confinement vector as JSON. Runs in init and in self-testing workers; no input but
 * the box. Never claims what was not done: each gap is named. */
#include "hands/confine/vector.h"

#include <stdio.h>

#include "common/json.h"

/* ats-hands(8) explains each. tested: the facts are known. */
static void
write_gaps(struct ats_json_w *w, const struct box *b, bool tested)
{
	bool view = box_has_namespaces(b), none = b->situation == BOX_NONE;
	bool host = (b->facts & BOX_NET_HOST) != 0;
	const struct {
		const char *name;
		bool is_there;
	} gaps[] = {
		/* What one process, one file may hold is bounded, not their sum. */
		{ "memory-sum", tested && (b->facts & BOX_CG_MEMORY) == 0 },
		{ "disk-sum", b->budget.disk_mib == 0 },
		/* Landlock knows opens, not these. */
		{ "metadata", !view }, { "stat", !view }, { "inotify", !view },
		{ "dev-shm", !view }, { "protected-names", !view },
		{ "protected-late", (b->facts & BOX_UNWATCHED) != 0 },
		{ "protected-contents", (b->facts & BOX_KEEP_PART) != 0 },
		{ "git-config", (b->facts & BOX_GIT_CONFIG) != 0 },
		{ "nested-repositories", (b->facts & BOX_SCAN_PART) != 0 },
		{ "files", none }, { "processes", none && !box_has_uids(b) },
		{ "landlock", b->landlock_abi == 0 },
		{ "landlock-scopes", b->landlock_abi > 0 && b->landlock_abi < 6 },
		{ "metadata-ip", host }, { "host-ports", host },
		{ "groups", (b->facts & BOX_GROUPS_KEPT) != 0 },
		{ "pid-max", view && tested && (b->facts & BOX_PID_MAX) == 0 },
		{ "loopback", view && tested && !host && (b->facts & BOX_LOOPBACK) == 0 },
		{ "idmap", b->situation == BOX_ROOT && (b->facts & BOX_IDMAP) == 0 },
	};

	ats_json_w_array(w, "gaps");
	for (size_t i = 0; i < ATS_ARRAY_LEN(gaps); i++)
		if (gaps[i].is_there)
			ats_json_w_str(w, NULL, gaps[i].name);
	ats_json_w_end(w);
}

/* What keeps files apart, processes, user ids, the network. */
static void
write_walls(struct ats_json_w *w, const struct box *b)
{
	bool view = box_has_namespaces(b), none = b->situation == BOX_NONE;
	const char *own = b->situation == BOX_USER ? "userns" : "same";

	ats_json_w_str(w, "fs", view ? "view" : none ? "none" : "landlock");
	ats_json_w_str(w, "net", b->facts & BOX_NET_HOST ? "host" : view ? "netns" : "seccomp");
	ats_json_w_str(w, "pid", view ? "ns" : b->landlock_abi >= 6 ? "landlock" :
	    box_has_uids(b) ? "uid" : "none");
	ats_json_w_str(w, "uid", box_has_uids(b) ? "separate" : own);
}

static void
write_limits(struct ats_json_w *w, const struct box *b)
{
	ats_json_w_object(w, "limits");
	ats_json_w_str(w, "pids", b->facts & BOX_PID_MAX ? "pid_max" :
	    b->facts & BOX_CG_PIDS ? "cgroup" : "nproc");
	ats_json_w_str(w, "mem", b->facts & BOX_CG_MEMORY ? "cgroup" : "rlimit");
	ats_json_w_str(w, "cpu", b->budget.cpu_s != 0 ? "rlimit" : "none");
	ats_json_w_str(w, "disk", b->budget.disk_mib != 0 ? "at-end" : "none");
	ats_json_w_end(w);
}

int
vector_make(const struct box *b, const struct ats_seccomp_prog *prog, enum filter filter,
    const struct vector_tests *tests, struct ats_buf *out)
{
	struct ats_json_w w;
	char label[64] = "tool";

	if (prog != NULL)
		filter_label(filter, prog, label);
	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "level", box_level(b));
	ats_json_w_bool(&w, "verified", tests != NULL && tests->failed == 0);
	write_walls(&w, b);
	ats_json_w_u64(&w, "landlock_abi", (uint64_t)b->landlock_abi);
	ats_json_w_str(&w, "seccomp", label);
	if (tests != NULL)	/* hello may be sent before the box is built */
		write_limits(&w, b);
	ats_json_w_str(&w, "protected", box_has_namespaces(b) ? "ro" : "restore");
	write_gaps(&w, b, tests != NULL);
	if (tests != NULL) {
		ats_json_w_object(&w, "tests");
		ats_json_w_u64(&w, "passed", tests->passed);
		ats_json_w_u64(&w, "failed", tests->failed);
		if (tests->failed > 0)
			ats_json_w_str(&w, "names", tests->names);
		ats_json_w_end(&w);
	}
	ats_json_w_end(&w);
	return w.rc;
}
