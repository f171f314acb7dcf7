/* SPDX-License-Identifier: Apache-2.0
 *
 * The new front's side of an upgrade. Runs in hands' front, confined, before its loop: until the
 * old one has ended no byte is read from, or written to, anything but the socket between them,
 * for it may go on. What comes is of another version; all of it is checked. */
#include "hands/front/upgrade.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/log.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/front.h"
#include "hands/front/keys.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/record.h"
#include "hands/front/report.h"
#include "hands/front/spill.h"
#include "hands/init/roles.h"

#define PATIENCE_MS 30000u	/* the old front waits for calls first, and ends us in time */

/* ---- who we are ---------------------------------------------------------------------- */
#define BUILD_BYTES 8u	/* of the id that are told: as many as tell builds apart */

static char build[2 * BUILD_BYTES + 1];

static void
take_note(const unsigned char *p, size_t n)
{
	ElfW(Nhdr) h;

	while (n >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		size_t name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
		size_t desc = ((size_t)h.n_descsz + 3) & ~(size_t)3;

		if (name > n - sizeof(h) || desc > n - sizeof(h) - name)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    memcmp(p + sizeof(h), "GNU", 4) == 0 && h.n_descsz >= BUILD_BYTES) {
			ats_hex(p + sizeof(h) + name, BUILD_BYTES, build);
			return;
		}
		p += sizeof(h) + name + desc;
		n -= sizeof(h) + name + desc;
	}
}

/* The first object is the program itself. */
static int
on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_NOTE && build[0] == '\0')
			take_note((const unsigned char *)(info->dlpi_addr + ph->p_vaddr),
			    ph->p_memsz);
	}
	return 1;
}

const char *
upgrade_build(void)
{
	if (build[0] == '\0')
		(void)dl_iterate_phdr(on_object, NULL);
	return build;
}

/* ---- what the old front says --------------------------------------------------------- */
static int
check_head(const struct record_HEAD *m, struct records *r)
{
	if (m->format != RECORD_FORMAT)
		return ats_err_set(&r->err, ATS_E_VERSION, "it reads records of version %u, the "
		    "running front writes %u", RECORD_FORMAT, (unsigned)m->format);
	if (m->inside != HANDS_INSIDE)
		return ats_err_set(&r->err, ATS_E_VERSION, "init and workers, which stay, speak "
		    "version %u, it speaks %u; restart the sandbox", (unsigned)m->inside,
		    HANDS_INSIDE);
	if (strcmp(m->tables, ats_proto_digest()) != 0)
		return ats_err_set(&r->err, ATS_E_VERSION, "it was built from other tables than "
		    "brain and the workers; restart the sandbox");
	return 0;
}

/* The parts, as far as the head tells of them. They own the descriptors then. */
static int
take_head(struct front *f, int spill, struct records *r)
{
	union record_any rec;
	const struct record_HEAD *m = &rec.HEAD;
	int rc = record_next(r, RECORD_ID_HEAD, &rec), zygotes[3], key;

	if (rc == 0)
		rc = check_head(m, r);
	if (rc < 0)
		return rc;
	if (!record_has_fds(r, (unsigned)m->read + m->write + m->shell + m->key))
		return record_wrong(r, "head");
	zygotes[0] = record_fd(r, m->read);
	zygotes[1] = record_fd(r, m->write);
	zygotes[2] = record_fd(r, m->shell);
	key = record_fd(r, m->key);
	(void)snprintf(f->boot, sizeof(f->boot), "%s", m->boot);
	f->draining = m->draining;
	f->gateway_ids = m->gateway_ids;
	if (front_keys_take(f, key, &r->err) < 0)
		return -r->err.code;
	f->spills = spill_store_adopt(spill);
	f->pool = pool_new(f, zygotes[0], zygotes[1], zygotes[2]);
	f->calls = calls_new(f);
	f->background = f->spills == NULL ? NULL : background_new(f);
	f->report = front_report_new(f);
	f->link = link_new(f, -1, -1);
	if (f->spills == NULL || f->pool == NULL || f->calls == NULL || f->background == NULL ||
	    f->report == NULL || f->link == NULL)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	background_set_next(f->background, m->next_job);
	link_set_epoch(f->link, m->epoch);
	return front_report_restore(f->report, (struct ats_slice){ r->payload.data,
		r->payload.len }) < 0 ? record_wrong(r, "head") : 0;
}

int
takeover_take(struct front *f, int spill, struct records *r)
{
	const struct record_HERE here = { .version = ATS_VERSION, .build = upgrade_build() };
	uint64_t jobs = 0, calls = 0;
	union record_any rec;
	int rc = record_send(r, RECORD_ID_HERE, &here, NULL, 0, NULL, 0);

	if (rc == 0)
		rc = take_head(f, spill, r);
	while (rc == 0 && (rc = record_any(r, &rec)) == 0) {
		if (r->id == RECORD_ID_END)
			return rec.END.jobs == jobs && rec.END.calls == calls ? 0 :
			    record_wrong(r, "end");
		if (r->id == RECORD_ID_JOB && calls == 0) {
			jobs++;
			rc = background_load(f->background, r, &rec);
		} else if (r->id == RECORD_ID_CALL) {
			calls++;
			rc = calls_load(f->calls, r, &rec);
		} else if (r->id == RECORD_ID_STOP) {
			rc = ats_err_set(&r->err, ATS_E_CANCELLED, "the old front goes on");
		} else {
			rc = record_wrong(r, "records");
		}
	}
	return rc;
}

/* Freeing the parts would end what they hold, which is the old front's still. */
static void __attribute__((noreturn))
leave(struct records *r)
{
	const struct record_REFUSED m = { .code = ats_err_name(r->err.code), .text = r->err.text };

	if (r->err.code == ATS_E_CANCELLED)
		_exit(0);
	ats_log(ATS_LOG_WARN, "this front does not take over", "code=%s why=\"%s\"", m.code,
	    m.text);
	r->err.text[399] = '\0';
	(void)!record_send(r, RECORD_ID_REFUSED, &m, NULL, 0, NULL, 0);
	_exit(EXIT_FAILURE);
}

void
takeover(struct front *f, int sock, int spill)
{
	const struct init_msg to_init = { .what = INIT_TAKEN };
	const struct record_TAKEN taken = { 0 };
	union record_any rec;
	struct records r;
	int rc;

	records_init(&r, sock, PATIENCE_MS);
	rc = ats_fd_nonblock(sock, true) < 0 ? ats_err_sys(&r.err, "socket") : 0;
	if (rc == 0)
		rc = takeover_take(f, spill, &r);
	if (rc == 0 && ats_fd_send(FRONT_FD_INIT, &to_init, sizeof(to_init), NULL, 0) < 0)
		rc = ats_err_set(&r.err, ATS_E_SYS, "init does not hear");
	if (rc == 0)
		rc = record_send(&r, RECORD_ID_TAKEN, &taken, NULL, 0, NULL, 0);
	if (rc < 0)
		leave(&r);
	/* Its end is the word. One that goes on says so before it goes on. */
	rc = record_any(&r, &rec);
	if (rc != -ATS_E_EOF) {
		if (rc == 0)
			(void)ats_err_set(&r.err, r.id == RECORD_ID_STOP ? ATS_E_CANCELLED :
			    ATS_E_PROTO, "the old front goes on");
		leave(&r);
	}
	records_done(&r);
	ats_fd_close(&sock);
	spill_store_trim(f->spills);
	ats_log(ATS_LOG_INFO, "this front goes on", "front=%u version=%s", f->opt.number,
	    ATS_VERSION);
}
