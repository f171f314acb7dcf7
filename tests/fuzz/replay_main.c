/* SPDX-License-Identifier: Apache-2.0
 *
 * Plays a committed corpus through one fuzz target, one TAP line a file, so that plain
 * `make check` repeats what fuzzing once found, with any compiler. The program's name
 * replay_TARGET says which corpus; run from the top of the tree. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay(const char *path)
{
	FILE *f = fopen(path, "re");
	uint8_t *data;
	size_t n;
	long size;

	if (f == NULL)
		return -1;
	(void)fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	/* exactly as large as the input, so that a sanitizer sees the first byte too many
	 */
	data = size < 0 ? NULL : malloc((size_t)size + (size == 0));
	n = data == NULL ? 0 : fread(data, 1, (size_t)size, f);
	(void)fclose(f);
	if (data == NULL || n != (size_t)size) {
		free(data);
		return -1;
	}
	(void)LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 0 ? strstr(argv[0], "replay_") : NULL;
	struct dirent **list;
	char dir[256], path[600];
	int i, n, tests = 0, failed = 0;

	if (name == NULL)
		return 2;
	(void)snprintf(
	    dir, sizeof(dir), "tests/fuzz/corpus/%s", name + strlen("replay_"));
	n = scandir(dir, &list, NULL, alphasort);
	if (n < 0) {
		printf("Bail out! %s: cannot be read\n", dir);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			(void)snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
			if (replay(path) < 0) {
				printf("not ");
				failed = 1;
			}
			printf("ok %d - %s\n", ++tests, path);
		}
		free(list[i]);
	}
	free(list);
	printf("1..%d\n", tests);
	return failed;
}
