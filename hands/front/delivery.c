/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that tell programs in the box of the host's tools. Runs in front, whose directory it
 * is: workers read it. Input: specs that brain sent. */
#include "hands/front/delivery.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/init/roles.h"
#include "proto/specs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPECS "tools.json"
#define CONFIG "mcp.json"
#define NEW ".new"		/* behind a name: it is being written */

struct delivery {
	struct front *f;
	int dir;
	bool relay;
	bool any;		/* there are tools */
	char gap[512];		/* why they are not delivered; "": they are */
	bool told;
};

/* Whole, or as it was. */
static int
put_file(const struct delivery *d, const char *name, const struct ats_buf *text,
    struct ats_err *err)
{
	char temp[32];
	ATS_CLEANUP_FD int fd = -1;

	(void)snprintf(temp, sizeof(temp), "%s" NEW, name);
	(void)unlinkat(d->dir, temp, 0);	/* of a front that died */
	fd = openat(d->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return ats_err_sys(err, "create %s", name);
	if (ats_fd_write_all(fd, text->data, text->len) < 0 || fchmod(fd, 0644) < 0 ||
	    renameat(d->dir, temp, d->dir, name) < 0) {
		(void)ats_err_sys(err, "write %s", name);
		(void)unlinkat(d->dir, temp, 0);
		return -err->code;
	}
	return 0;
}

static int
remove_file(const struct delivery *d, const char *name, struct ats_err *err)
{
	if (unlinkat(d->dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return ats_err_sys(err, "remove %s", name);
}

static void
write_place(struct ats_json_w *w, const struct delivery *d, const char *key, const char *name)
{
	char path[4096 + 32];

	(void)snprintf(path, sizeof(path), "%s/%s", d->f->opt.tools, name);
	ats_json_w_str(w, key, path);
}

static int
make_config(const struct delivery *d, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_object(&w, "mcpServers");
	ats_json_w_object(&w, "ats-tools");
	ats_json_w_str(&w, "command", d->f->opt.hands);
	ats_json_w_array(&w, "args");
	ats_json_w_str(&w, NULL, "shim");
	ats_json_w_end(&w);
	ats_json_w_object(&w, "env");
	write_place(&w, d, "ATS_TOOLS_SPECS", SPECS);
	write_place(&w, d, "ATS_RELAY_SOCKET", RELAY_SOCKET);
	while (w.depth > 0)
		ats_json_w_end(&w);
	return w.rc;
}

static int
put_files(struct delivery *d, const struct ats_specs *specs, struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 }, config = { 0 };
	int rc;

	ats_buf_init(&text, ATS_SPECS_BYTES);
	ats_buf_init(&config, 64u << 10);
	rc = ats_specs_write(&text, specs);
	if (rc == 0)
		rc = make_config(d, &config);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s", ats_err_text(rc));
	rc = put_file(d, SPECS, &text, err);
	return rc < 0 ? rc : put_file(d, CONFIG, &config, err);
}

/* No file is better than an old one: what it names may be gone, or mean something else. */
static int
remove_files(const struct delivery *d, struct ats_err *err)
{
	int rc = remove_file(d, CONFIG, err);
	int also = remove_file(d, SPECS, rc < 0 ? NULL : err);

	return rc < 0 ? rc : also;
}

static const char *
missing(const struct delivery *d)
{
	if (d->dir < 0 || !d->relay)
		return "commands have no Unix sockets at this level of confinement";
	if (d->f->opt.hands == NULL)
		return "tools cannot run ats-hands where it lies; it belongs in /usr/local/bin, "
		    "mode 755";
	return NULL;
}

static void
say(struct delivery *d, const char *why)
{
	(void)snprintf(d->gap, sizeof(d->gap), "%s", why);
	d->told = false;
	ats_log(ATS_LOG_ERROR, "tools of the host cannot be used in the sandbox", "why=\"%s\"",
	    d->gap);
}

void
delivery_put(struct delivery *d, const struct ats_specs *specs)
{
	struct ats_err err = { 0 }, ignored = { 0 };
	const char *why;
	int rc = 0;

	if (d == NULL)
		return;
	why = missing(d);
	d->gap[0] = '\0';
	d->any = specs->n > 0;
	if (d->any && why == NULL)
		rc = put_files(d, specs, &err);
	else if (d->dir >= 0)
		rc = remove_files(d, &err);
	if (rc < 0 && d->any && d->dir >= 0)
		(void)remove_files(d, &ignored);
	if (rc < 0 || (d->any && why != NULL))
		say(d, rc < 0 ? err.text : why);
}

void
delivery_refuse(struct delivery *d, const char *why)
{
	struct ats_err ignored = { 0 };

	if (d == NULL)
		return;
	d->any = true;
	if (d->dir >= 0)
		(void)remove_files(d, &ignored);
	say(d, why);
}

const char *
delivery_gap(struct delivery *d)
{
	if (d == NULL || d->told || d->gap[0] == '\0')
		return NULL;
	d->told = true;
	return d->gap;
}

static int
add_place(const struct delivery *d, const char *name, const char *file, struct ats_buf *out)
{
	int rc = ats_buf_addf(out, "%s=%s/%s", name, d->f->opt.tools, file);

	return rc < 0 ? rc : ats_buf_add_char(out, '\0');
}

int
delivery_env(const struct delivery *d, const char *session, struct ats_buf *out)
{
	int rc;

	if (d == NULL || !d->any || d->gap[0] != '\0')
		return 0;
	rc = add_place(d, "ATS_TOOLS_SPECS", SPECS, out);
	if (rc == 0)
		rc = add_place(d, "ATS_RELAY_SOCKET", RELAY_SOCKET, out);
	if (rc == 0)
		rc = add_place(d, "ATS_MCP_CONFIG", CONFIG, out);
	if (rc == 0 && session != NULL) {
		rc = ats_buf_addf(out, "ATS_SESSION_ID=%s", session);
		rc = rc < 0 ? rc : ats_buf_add_char(out, '\0');
	}
	return rc;
}

struct delivery *
delivery_new(struct front *f, int dir, bool relay)
{
	struct delivery *d = ats_calloc(1, sizeof(*d));
	struct ats_err err = { 0 };

	if (d == NULL) {
		ats_fd_close(&dir);
		return NULL;
	}
	*d = (struct delivery){ .f = f, .dir = dir, .relay = relay };
	if (dir >= 0 && remove_files(d, &err) < 0)
		ats_log(ATS_LOG_WARN, "files of an earlier start stay", "why=\"%s\"", err.text);
	return d;
}

void
delivery_free(struct delivery *d)
{
	if (d == NULL)
		return;
	ats_fd_close(&d->dir);
	free(d);
}
