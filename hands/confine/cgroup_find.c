/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading /proc/self/cgroup and mountinfo (proc(5), cgroups(7)). Runs in the launcher; the text
 * is the kernel's, names in it are the host's. */
#include "hands/confine/cgroup_find.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct span {
	const char *p;
	size_t n;
};

static bool
is(struct span s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

bool
cgroup_list_has(const char *list, size_t n, const char *word, const char *separators)
{
	const char *end = list + n;

	while (list < end) {
		size_t len = strcspn(list, separators);

		if (len > (size_t)(end - list))
			len = (size_t)(end - list);
		if (is((struct span){ list, len }, word))
			return true;
		list += len + 1;
	}
	return false;
}

/* "ID:CONTROLLERS:PATH"; of the unified hierarchy "0::PATH". */
static bool
own_path(const char *text, const char *controller, struct span *ret)
{
	for (const char *line = text; *line != '\0';) {
		size_t n = strcspn(line, "\n");
		const char *list = memchr(line, ':', n), *path;

		if (list != NULL &&
		    (path = memchr(list + 1, ':', n - (size_t)(list + 1 - line))) != NULL) {
			size_t len = (size_t)(path - list - 1);

			if (controller == NULL ? len == 0 && line[0] == '0' && list == line + 1 :
			    cgroup_list_has(list + 1, len, controller, ",")) {
				*ret = (struct span){ path + 1, n - (size_t)(path + 1 - line) };
				return true;
			}
		}
		line += n + (line[n] == '\n');
	}
	return false;
}

/* One line of mountinfo: its root, mount point, type and options of the file system. */
static bool
mount_fields(const char *line, size_t n, struct span out[4])
{
	const char *end = line + n, *p = line;
	bool behind = false;

	for (unsigned i = 0, after = 0; p < end; i++) {
		size_t len = strcspn(p, " \n");
		struct span s = { p, len > (size_t)(end - p) ? (size_t)(end - p) : len };

		if (behind) {
			after++;
			if (after == 1)
				out[2] = s;
			else if (after == 3)
				out[3] = s;
		} else if (i == 3 || i == 4) {
			out[i - 3] = s;
		} else if (i > 5 && is(s, "-")) {
			behind = true;
		}
		if (after == 3)
			return true;
		p += s.n + 1;
	}
	return false;
}

/* Mount points are printed with octal escapes of blanks, newlines and backslashes. */
static size_t
unescape(struct span s, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n + 1 < size; i++) {
		if (s.p[i] == '\\' && i + 3 < s.n) {
			out[n++] = (char)((s.p[i + 1] - '0') << 6 | (s.p[i + 2] - '0') << 3 |
			    (s.p[i + 3] - '0'));
			i += 3;
		} else {
			out[n++] = s.p[i];
		}
	}
	out[n] = '\0';
	return n;
}

/* The group's path, less the part above what is mounted. */
static bool
below_root(struct span path, struct span root, struct span *ret)
{
	if (path.n == 0 || path.p[0] != '/' || memmem(path.p, path.n, "/..", 3) != NULL)
		return false;	/* beyond the root of a cgroup namespace */
	if (is(root, "/")) {
		*ret = path;
		return true;
	}
	if (path.n < root.n || memcmp(path.p, root.p, root.n) != 0 ||
	    (path.n > root.n && path.p[root.n] != '/'))
		return false;
	*ret = (struct span){ path.p + root.n, path.n - root.n };
	return true;
}

bool
cgroup_find(const char *cgroup, const char *mountinfo, const char *controller, char *out,
    size_t size)
{
	const char *type = controller == NULL ? "cgroup2" : "cgroup";
	struct span path, rest, f[4] = { { NULL, 0 } };
	char mount[PATH_MAX];
	int n;

	if (!own_path(cgroup, controller, &path))
		return false;
	for (const char *line = mountinfo; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		if (mount_fields(line, len, f) && is(f[2], type) &&
		    (controller == NULL || cgroup_list_has(f[3].p, f[3].n, controller, ",")) &&
		    below_root(path, f[0], &rest)) {
			(void)unescape(f[1], mount, sizeof mount);
			n = snprintf(out, size, "%s%.*s", mount, (int)rest.n, rest.p);
			return n > 0 && (size_t)n < size;
		}
		line += len + (line[len] == '\n');
	}
	return false;
}
