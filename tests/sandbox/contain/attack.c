/* SPDX-License-Identifier: Apache-2.0
 *
 * attack NAME [ARG...]: tries one thing that must not work. Built static on the host, run by
 * a check's script inside the box (or outside of any, to see that it would work). */
#include "attack.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

char **arguments;

void
say(const char *kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)printf("%s: ", kind);
	(void)vprintf(fmt, ap);
	(void)putchar('\n');
	(void)fflush(stdout);
	va_end(ap);
}

bool
must_fail(long rc, const char *what)
{
	if (rc >= 0)
		ESCAPED("%s", what);
	else
		REFUSED("%s: %s", what, strerror(errno));
	return rc >= 0;
}

void
must_not_reach(long rc, const char *what)
{
	if (rc < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES))
		REFUSED("%s: %s", what, strerror(errno));
	else
		ESCAPED("%s reached the kernel: %s", what, rc < 0 ? strerror(errno) : "done");
}

void
must_not_open(const char *path, int flags)
{
	struct stat st;
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		REFUSED("%s: %s", path, strerror(errno));
	else if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		REFUSED("%s: is masked", path);
	else
		ESCAPED("%s opened, flags %#x", path, (unsigned)flags);
	(void)close(fd);
}

void
print_from(int fd)
{
	char b[4096];
	ssize_t n = read(fd, b, sizeof b);

	if (n <= 0)
		return;
	(void)fwrite(b, 1, (size_t)n, stdout);
	(void)putchar('\n');
	(void)fflush(stdout);
}

const char *
word(const char *name)
{
	const char *v = getenv(name);

	return v != NULL ? v : "";
}

long
number(const char *name)
{
	return strtol(word(name), NULL, 0);
}

const char *
outside(const char *leaf)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", word("OUT"), leaf);
	return path;
}

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
#define ATTACK(name) { #name, attack_##name },
#include "attacks.def"
#undef ATTACK
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof attacks[0]; i++) {
		if (strcmp(attacks[i].name, argv[1]) != 0)
			continue;
		arguments = argv + 2;
		attacks[i].run();
		return 0;
	}
	(void)fprintf(stderr, "attack: no such attack\n");
	return 2;
}
