/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames between engine and one hands: one handler a row of frames.def. What comes is
 * the sandbox's, hostile: any breach ends this link and no more. */
#ifndef ATS_ENGINE_LINK_H
#define ATS_ENGINE_LINK_H

#include "brain/engine/sandbox.h"
#include "proto/msg.h"

/* Takes fd, also on failure, and says hello. address: of a link that wants proof; its kind says
 * what is spoken below the frames. Or "". */
ATS_NODISCARD int link_start(struct sandbox *box, int fd, const char *address,
    struct ats_err *err);
/* Takes a channel whose hands has said hello and proven that it is this sandbox, and *p. */
ATS_NODISCARD int link_adopt(struct sandbox *box, struct ats_chan *c, struct proof *p,
    enum ats_addr_kind kind, struct ats_err *err);
/* The versions and the role of a hello. */
ATS_NODISCARD int link_check_hello(const struct ats_msg_HELLO *m, struct ats_err *err);
/* The last frame; the channel still has to be closed. */
void link_goodbye(struct ats_chan *c, int code, const char *text);
void link_stop(struct sandbox *box);
/* It is lost, and ends soon: what has come of a frame that will not come whole is counted. */
void link_cut(struct sandbox *box);
/* Encodes and sends one frame. -ATS_E_FULL, -ATS_E_NOMEM, -ATS_E_EOF, -ATS_E_FIELD. */
ATS_NODISCARD int link_send(struct sandbox *box, enum ats_frame_id frame, uint64_t call,
    const void *msg, struct ats_err *err);
/* The same with a payload. */
ATS_NODISCARD int link_send_payload(struct sandbox *box, enum ats_frame_id frame, uint64_t call,
    const void *msg, struct ats_slice payload, struct ats_err *err);
/* Small control frames; a failure shows as the loss of the link. */
void link_cancel(struct sandbox *box, uint64_t call, const char *why);
void link_ack(struct sandbox *box, uint64_t call);
/* Ping when silent for one interval. -ATS_E_SILENT after two. */
ATS_NODISCARD int link_heartbeat(struct sandbox *box);

#endif
