/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames between engine and one hands: one handler a row of frames.def. What comes is
 * the sandbox's, hostile: any breach ends this link and no more. */
#ifndef ATS_ENGINE_LINK_H
#define ATS_ENGINE_LINK_H

#include "brain/engine/sandbox.h"
#include "proto/msg.h"

/* Takes fd and says hello. */
ATS_NODISCARD int link_start(struct sandbox *box, int fd, struct ats_err *err);
void link_stop(struct sandbox *box);
/* Encodes and sends one frame. -ATS_E_FULL, -ATS_E_NOMEM, -ATS_E_EOF, -ATS_E_FIELD. */
ATS_NODISCARD int link_send(struct sandbox *box, enum ats_frame_id frame, uint64_t call,
    const void *msg, struct ats_err *err);
/* Small control frames; a failure shows as the loss of the link. */
void link_cancel(struct sandbox *box, uint64_t call, const char *why);
void link_ack(struct sandbox *box, uint64_t call);
/* Ping when silent for one interval. -ATS_E_SILENT after two. */
ATS_NODISCARD int link_heartbeat(struct sandbox *box);

#endif
