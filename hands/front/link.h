/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection to brain: the first one on an inherited descriptor, later ones from the
 * listening socket, one at a time. Handshake, gate, heartbeat, resumption, goodbye; front
 * ends when no peer has been there for the retention time. */
#ifndef ATS_HANDS_FRONT_LINK_H
#define ATS_HANDS_FRONT_LINK_H

#include "common/chan.h"
#include "proto/msg.h"

struct front;
struct link;

/* Takes both descriptors; -1 where there is none. Returns owned or NULL. */
struct link *link_new(struct front *f, int first_fd, int listen_fd);
/* Of one that was made without a way in: this is it (taken). -ATS_E_NOMEM. */
ATS_NODISCARD int link_open(struct link *l, int listen_fd);
void link_free(struct link *l);
/* READY has been sent and the channel lives. */
bool link_is_ready(const struct link *l);
/* The self-test has ended: whoever said HELLO gets READY. */
void link_report_ready(struct link *l);
/* Sends one frame; its shape is the caller's duty. 0, -ATS_E_EOF when nobody is there,
 * -ATS_E_FULL, -ATS_E_NOMEM. */
int link_send(struct link *l, enum ats_frame_id id, uint64_t call, const char *json,
    size_t json_len, const char *payload, size_t payload_len);
/* A RESULT "not_started" for an id that got no call of its own. */
void link_refuse(struct link *l, uint64_t call, int code, const char *text);
/* The living channel, for streams; NULL when not ready. */
struct ats_chan *link_chan(struct link *l);
/* Another connection can come when this one has ended. */
bool link_has_way_in(const struct link *l);
/* For the front that goes on: the attachments are counted from there. */
uint64_t link_epoch(const struct link *l);
void link_set_epoch(struct link *l, uint64_t epoch);
/* How many bytes of a stdin frame that has not come whole went into its pipe, and whose it is. */
size_t link_half(const struct link *l, uint64_t *ret_call);
/* Writes what is queued, until that has left or so many ms are over. */
void link_flush(struct link *l, unsigned ms);
/* Says goodbye with an ATS_E_* (0: an orderly end) and closes. NULL is fine. */
void link_goodbye(struct link *l, int code, const char *text);

#endif
