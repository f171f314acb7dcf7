/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe. Runs as the launcher's process; a real box is built around an empty
 * directory, so that what it says is what will happen. */
#include "hands/confine/probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/json.h"
#include "hands/confine/filters.h"
#include "hands/confine/vector.h"
#include "hands/init/launch.h"
#include "hands/init/mounts.h"
#include "hands/init/scratch.h"

struct probe {
	struct ats_json_w w;
	bool partial;
	uint32_t facts;		/* of the box that was tried */
};

static void
layer(struct probe *p, const char *name, const char *state, const char *why,
    const char *remedy)
{
	ats_json_w_object(&p->w, NULL);
	ats_json_w_str(&p->w, "name", name);
	ats_json_w_str(&p->w, "state", state);
	if (why != NULL)
		ats_json_w_str(&p->w, "why", why);
	if (remedy != NULL)
		ats_json_w_str(&p->w, "remedy", remedy);
	ats_json_w_end(&p->w);
	p->partial = p->partial || strcmp(state, "on") != 0;
}

static void
fact(struct probe *p, uint32_t facts, uint32_t bit, const char *name, const char *why,
    const char *remedy)
{
	bool on = (facts & bit) != 0;

	layer(p, name, on ? "on" : "off", on ? NULL : why, on ? NULL : remedy);
}

static void
landlock_layer(struct probe *p)
{
	int abi = ats_landlock_abi();
	char why[128];

	(void)snprintf(why, sizeof why, "this kernel has ABI %d: %s", abi,
	    abi == 0 ? "absent" : "signal and socket scopes begin with 6");
	layer(p, "landlock",
	    abi >= 6  ? "on"
	    : abi > 0 ? "partial"
		      : "off",
	    abi >= 6 ? NULL : why,
	    abi >= 6 ? NULL : "boot Linux 6.12 or newer, with landlock in lsm=");
}

static void
seccomp_layer(struct probe *p)
{
	struct ats_seccomp_prog prog = { NULL, 0 };
	struct ats_err err = { 0 };
	int rc = filter_build(FILTER_SHELL, &prog, &err);

	layer(p, "seccomp", rc == 0 ? "on" : "off", rc == 0 ? NULL : err.text, NULL);
	ats_seccomp_done(&prog);
}

/* Splits "why; remedy: what" as ns_explain and others word it. */
static void
namespaces_off(struct probe *p, char *text)
{
	char *remedy = strstr(text, "; remedy: ");

	if (remedy != NULL) {
		*remedy = '\0';
		remedy += strlen("; remedy: ");
	}
	layer(p, "namespaces", "off", text, remedy);
}

static const char *
layers(struct probe *p, struct hands_options *o)
{
	bool root = geteuid() == 0;
	static struct launched box;
	struct ats_err err = { 0 };
	struct budget budget = { 0 };
	struct cgroups groups;
	const struct launch try = { .options = o,
		.situation = root ? BOX_ROOT : BOX_USER,
		.probe = true,
		.link = -1,
		.listen = -1,
		.groups = &groups };
	int rc, abi = ats_landlock_abi();

	budget_complete(&budget, false);
	cgroups_make(&groups, &budget);
	rc = launch_try(&try, &box, &err);
	cgroups_end(&groups);

	if (rc == 0) {
		layer(p, "namespaces", "on", NULL, NULL);
		layer(p, "view", "on", NULL, NULL);
		fact(
		    p, box.status.facts, BOX_LOOPBACK, "loopback", "lo could not be set up", NULL);
		fact(p, box.status.facts, BOX_PID_MAX, "pid_max",
		    "per-namespace pid_max begins with "
		    "Linux 6.14; RLIMIT_NPROC is used",
		    "boot Linux 6.14 or newer");
		if (root)
			fact(p, box.status.facts, BOX_IDMAP, "idmap", "the file system of the "
			    "temporary directory cannot be id-mapped", NULL);
	} else {
		namespaces_off(p, err.text);
	}
	/* Of an ordinary user a user namespace is the separation there can be: nothing misses. */
	if (root || rc == 0)
		layer(p, "uid", "on", root ? NULL :
		    "tools have your user id, in a user namespace of their own", NULL);
	else
		layer(p, "uid", "off", "tools have your user id",
		    "start the brain as root: it gives tools other user ids");
	if (rc < 0 && groups.has_memory)
		box.status.facts |= BOX_CG_MEMORY;	/* nobody was there to enter it */
	fact(p, box.status.facts, BOX_CG_MEMORY, "cgroup", groups.why[0] != '\0' ? groups.why :
	    "there is no cgroup file system with a memory controller",
	    "start the brain as a systemd service with Delegate=yes, as "
	    "its unit for users does; in a container, limit its memory");
	landlock_layer(p);
	seccomp_layer(p);
	p->facts = box.status.facts;
	if (rc == 0)
		return "namespaces";
	if (root && abi >= 3)
		return "uid+landlock";
	return !root && abi >= 6 ? "landlock" : "none";
}

/* The vector of a box of that level, as its hello would have it: nothing is verified. */
static int
write_vector(struct probe *p, const char *level)
{
	static const enum box_situation all[] = { BOX_ROOT, BOX_USER, BOX_UID, BOX_LANDLOCK,
		BOX_NONE };
	bool root = geteuid() == 0;
	struct box b = { .facts = p->facts, .front_uid = root, .landlock_abi =
	    ats_landlock_abi() };
	ATS_CLEANUP_BUF struct ats_buf out = { 0 };
	size_t i = root ? 0 : 1;

	for (b.situation = all[i]; strcmp(box_level(&b), level) != 0; b.situation = all[++i])
		;
	ats_buf_init(&out, 8192);
	if (vector_make(&b, NULL, filter_of(ATS_PROFILE_SHELL, &b), NULL, &out) < 0)
		return -ATS_E_NOMEM;
	ats_json_w_raw(&p->w, "confinement", out.data, out.len);
	return 0;
}

int
probe_print(void)
{
	char top[64], ws[72], state[72];
	struct hands_options o = { .link_fd = -1, .listen_fd = -1, .workspace = ws,
		.state_dir = state, .sandbox = "probe" };
	ATS_CLEANUP_BUF struct ats_buf out = { 0 };
	struct probe p = { .partial = false };
	struct ats_err err = { 0 };
	const char *level;
	int lock ATS_CLEANUP_FD = -1;

	mounts_complete();
	ats_buf_init(&out, 16384);
	if (scratch_make("ats-probe", top, sizeof(top), &lock, &err) < 0) {
		(void)fprintf(stderr, "ats-hands: %s\n", err.text);
		return 1;
	}
	(void)snprintf(ws, sizeof ws, "%s/ws", top);
	(void)snprintf(state, sizeof state, "%s/state", top);
	if (mkdir(ws, 0700) < 0 || mkdir(state, 0700) < 0)
		perror("ats-hands: mkdir");
	ats_json_w_init(&p.w, &out);
	ats_json_w_object(&p.w, NULL);
	ats_json_w_array(&p.w, "layers");
	level = layers(&p, &o);
	ats_json_w_end(&p.w);
	ats_json_w_str(&p.w, "level", level);
	if (write_vector(&p, level) < 0)
		p.w.rc = -ATS_E_NOMEM;
	ats_json_w_end(&p.w);
	scratch_remove(top);
	(void)puts(out.data);
	return p.partial || p.w.rc < 0 ? 1 : 0;
}
