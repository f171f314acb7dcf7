/* SPDX-License-Identifier: Apache-2.0
 *
 * A goodbye from the launcher, to a peer that waits for its hello. Runs in the launcher;
 * nothing is read. */
#include "hands/init/goodbye.h"

#include "common/fd.h"
#include "common/frame.h"
#include "proto/msg.h"

void
goodbye_say(int fd, const struct ats_err *why)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_GOODBYE];
	ATS_CLEANUP_BUF struct ats_buf json = { 0 };
	unsigned char head[ATS_FRAME_HEAD];

	ats_buf_init(&json, 4096);
	if (fd < 0 || ats_msg_encode(&row->shape, &(struct ats_msg_GOODBYE){
		.code = ats_err_name(why->code), .text = why->text }, &json, NULL) < 0)
		return;
	ats_frame_head_put(&(struct ats_frame_head){ .len = ATS_FRAME_HEAD + (uint32_t)json.len,
	    .type = row->type, .kind = row->kind, .json_len = (uint32_t)json.len }, head);
	if (ats_fd_write_all(fd, head, sizeof head) < 0 ||
	    ats_fd_write_all(fd, json.data, json.len) < 0)
		return;
}
