/* SPDX-License-Identifier: Apache-2.0
 *
 * Protected names where nothing can be mounted over them: what stands there is remembered, and
 * put back when a tool changed it. What the tool made is renamed to NAME.quarantine. */
#ifndef ATS_HANDS_CONFINE_KEEP_H
#define ATS_HANDS_CONFINE_KEEP_H

#include "hands/confine/protect.h"

/* Of all names together, those of PROTECT_DIRS_MAX directories that are not there included. With
 * more, keep_is_whole says so. */
#define KEEP_ITEMS_MAX (1u << 16)
#define KEEP_DEPTH_MAX 32
/* Of their contents; what is above is moved aside when it was changed, not put back. */
#define KEEP_BYTES_MAX (4u << 20)
#define KEEP_FILE_MAX (1u << 20)

struct keep;
/* Memory that later children share; never freed. The caller lets one process in at a time.
 * NULL with err set. */
struct keep *keep_new(struct ats_err *err);
/* What stands in these directories now is the user's. Reads files only where something is
 * not as it was remembered. links_only: names that are symbolic links, and nothing else. Without
 * it, what such a link leads to in the workspace is remembered as well. */
void keep_take(struct keep *k, const struct protect_dirs *dirs, bool links_only);
/* Whether each name is remembered: a change of another would not be noticed. */
bool keep_is_whole(const struct keep *k);
/* Whether the content of each is, so that it can be put back. */
bool keep_has_contents(const struct keep *k);
/* Puts back what differs; how many names did. ret_stays: one that could not be, which is left as
 * it was before the call otherwise; it lives as long as what is remembered. */
unsigned keep_restore(struct keep *k, const char **ret_stays);
/* Whether this name of the directory of that number stood there, and is put back. */
bool keep_has(const struct keep *k, size_t dir, const char *name);
/* Renames dir/name to NAME.quarantine beside it, or to NAME.quarantine.RANDOM where that is
 * taken, whatever the directory's mode, which stays; 0, or -1 and errno. */
ATS_NODISCARD int keep_move_aside(int dirfd, const char *name);
enum keep_aside {
	KEEP_GONE,	/* none is there, or a mount, which no tool made */
	KEEP_MOVED,
	KEEP_STAYS	/* it could not be moved */
};
/* The same of what a tool made; the log tells of it, and why. */
ATS_NODISCARD enum keep_aside keep_put_aside(int dirfd, const char *name, const char *why);
/* As mnt_open_dir: while tools run, which may have shut a directory on the way: it is opened to
 * its owner again. A descriptor, or -1 and errno, EACCES where it stays shut. */
ATS_NODISCARD int keep_open_dir(const char *path);

#endif
