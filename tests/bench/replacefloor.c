/* SPDX-License-Identifier: Apache-2.0
 *
 * What replacing a file of 4 KiB safely costs without any tool: write, fsync, rename.
 * usage: replacefloor DIR ROUNDS */
#include <fcntl.h>

#include "tests/bench/bench.h"

int
main(int argc, char **argv)
{
	struct samples us = { 0 };
	char block[4096];
	int rounds, dir;

	if (argc != 3) {
		fprintf(stderr, "usage: replacefloor DIR ROUNDS\n");
		return 2;
	}
	rounds = atoi(argv[2]);
	dir = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		bench_die("open");
	memset(block, 'x', sizeof(block));
	for (int i = -10; i < rounds; i++) {
		uint64_t t = bench_ns();
		int fd = openat(dir, ".floor.tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) ||
		    fsync(fd) < 0 || renameat(dir, ".floor.tmp", dir, "floor.txt") < 0)
			bench_die("replace");
		(void)close(fd);
		if (i >= 0)
			samples_add(&us, (double)(bench_ns() - t) / 1e3);
	}
	(void)unlinkat(dir, "floor.txt", 0);
	printf("{\"median_us\":%.1f}\n", samples_quantile(&us, 0.5));
	return 0;
}
