/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's terminal during atsctl exec --tty. Process: atsctl. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "brain/ctl/streams.h"

static struct termios saved;	/* here, since atexit passes nothing */
static bool is_raw;

void
tty_restore(void)
{
	if (is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	is_raw = false;
}

void
tty_raw(void)
{
	struct termios raw;

	if (is_raw || !isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &saved) < 0)
		return;
	raw = saved;
	cfmakeraw(&raw);
	(void)atexit(tty_restore);
	is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

bool
tty_size(unsigned *ret_rows, unsigned *ret_cols)
{
	struct winsize w;

	for (int fd = 0; fd < 3; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0) {
			*ret_rows = w.ws_row;
			*ret_cols = w.ws_col;
			return true;
		}
	}
	return false;
}
