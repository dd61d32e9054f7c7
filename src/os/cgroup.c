/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the cgroup of a process is mounted.
 */
#include "os/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "os/scan.h"

/* Part of a text that is not ours. */
struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span span, const char *text)
{
	return span.len == strlen(text) && !memcmp(span.at, text, span.len);
}

/* True when a comma-separated list holds `word`. */
static bool list_has(struct span list, const char *word)
{
	const char *end = list.at + list.len;
	while (list.at < end) {
		const char *comma = memchr(list.at, ',', (size_t)(end - list.at));
		struct span item = {list.at, (size_t)((comma ? comma : end) - list.at)};
		if (span_is(item, word))
			return true;
		list.at += item.len + 1;
	}
	return false;
}

/* ---- /proc/PID/cgroup ---- */

/* One line, "4:cpu,cpuacct:/path". */
static bool split_cgroup_line(const char *line, struct span *controllers, struct span *path)
{
	size_t len = strcspn(line, "\n");
	const char *first = memchr(line, ':', len);
	if (!first)
		return false;
	const char *end = line + len;
	const char *second = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (!second)
		return false;
	*controllers = (struct span){first + 1, (size_t)(second - first - 1)};
	*path = (struct span){second + 1, (size_t)(end - second - 1)};
	return path->len > 0 && path->at[0] == '/';
}

/* The path of the process in the hierarchy of the controller: its version, or
 * 0 when it is in none. The line of v2 names no controller. */
static int find_path(const char *cgroups, const char *controller, struct span *found)
{
	int version = 0;
	for (; cgroups; cgroups = sz_scan_next_line(cgroups)) {
		struct span controllers, path;
		if (!split_cgroup_line(cgroups, &controllers, &path))
			continue;
		if (list_has(controllers, controller)) {
			*found = path;
			return 1;
		}
		if (!controllers.len && !strncmp(cgroups, "0:", 2)) {
			*found = path;
			version = 2;
		}
	}
	return version;
}

/* ---- /proc/self/mountinfo ---- */

struct mount {
	char root[SZ_CGROUP_PATH_MAX];  /* the cgroup that is mounted, "/" for all */
	char point[SZ_CGROUP_PATH_MAX]; /* "/sys/fs/cgroup" */
};

/* Words of a line; those after the separator are at no fixed place. */
enum { MOUNT_ROOT = 3, MOUNT_POINT = 4, MOUNT_WORDS };

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blanks and backslashes of a path are written as \ and three octal digits. */
static bool unescape(struct span word, char path[SZ_CGROUP_PATH_MAX])
{
	size_t len = 0;
	for (size_t i = 0; i < word.len; i++) {
		const char *at = word.at + i;
		char byte = *at;
		if (byte == '\\' && word.len - i > 3 && is_octal(at[1]) && is_octal(at[2]) &&
		    is_octal(at[3])) {
			byte = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			i += 3;
		}
		if (len + 1 >= SZ_CGROUP_PATH_MAX || !byte)
			return false;
		path[len++] = byte;
	}
	path[len] = '\0';
	return path[0] == '/';
}

static bool next_span(const char **line, struct span *word)
{
	word->at = sz_scan_word(line, &word->len);
	return word->at != NULL;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS…] - TYPE SOURCE OPTIONS":
 * true when it mounts the hierarchy of the controller, and not at "/". */
static bool scan_mount(const char *line, int version, const char *controller, struct mount *mount)
{
	struct span word[MOUNT_WORDS], type, source, options;
	for (int i = 0; i < MOUNT_WORDS; i++)
		if (!next_span(&line, &word[i]))
			return false;
	do {
		if (!next_span(&line, &type))
			return false;
	} while (!span_is(type, "-"));
	if (!next_span(&line, &type) || !next_span(&line, &source) || !next_span(&line, &options))
		return false;
	bool matches = version == 2 ? span_is(type, "cgroup2")
				    : span_is(type, "cgroup") && list_has(options, controller);
	return matches && unescape(word[MOUNT_ROOT], mount->root) &&
	       unescape(word[MOUNT_POINT], mount->point) && mount->point[1];
}

/* What is left of path below root: "" or "/…"; at is NULL when it is not
 * below. A root or path above the namespace, "/..", fits nothing: the names in
 * between are unknown. */
static struct span below_root(struct span path, const char *root)
{
	static const struct span outside = {NULL, 0};
	size_t root_len = strlen(root);
	if (!strcmp(root, "/"))
		root_len = 0;
	if (path.len >= 3 && !memcmp(path.at, "/..", 3) && (path.len == 3 || path.at[3] == '/'))
		return outside;
	if (path.len < root_len || memcmp(path.at, root, root_len) != 0)
		return outside;
	path.at += root_len;
	path.len -= root_len;
	if (path.len == 1 && path.at[0] == '/')
		path.len = 0;
	return path.len && path.at[0] != '/' ? outside : path;
}

static int join(struct sz_cgroup *cgroup, const struct mount *mount, struct span rest)
{
	int len = snprintf(cgroup->dir, sizeof(cgroup->dir), "%s%.*s", mount->point, (int)rest.len,
			   rest.at);
	cgroup->top_len = strlen(mount->point);
	return len >= 0 && (size_t)len < sizeof(cgroup->dir) ? 0 : -1;
}

static void explain(char why[256], int version, bool mounted, const char *controller,
		    struct span path)
{
	if (!version)
		why[0] = '\0';
	else if (mounted)
		snprintf(why, 256, "cgroup %.*s lies outside this cgroup namespace",
			 (int)(path.len < 180 ? path.len : 180), path.at);
	else if (version == 2)
		snprintf(why, 256, "cgroups (version 2) are not mounted here");
	else
		snprintf(why, 256, "cgroups of controller %s are not mounted here", controller);
}

/* Of several mounts the one that shows the most ancestors is taken, and of
 * equal ones the last, which may cover those before. */
int sz_cgroup_find(const char *cgroups, const char *mounts, const char *controller,
		   struct sz_cgroup *cgroup, char why[256])
{
	struct span path = {"", 0};
	struct sz_cgroup found = {.version = find_path(cgroups, controller, &path)};
	size_t best_root_len = SIZE_MAX;
	bool mounted = false;
	for (; mounts && found.version; mounts = sz_scan_next_line(mounts)) {
		struct mount mount;
		if (!scan_mount(mounts, found.version, controller, &mount))
			continue;
		mounted = true;
		struct span rest = below_root(path, mount.root);
		if (rest.at && strlen(mount.root) <= best_root_len &&
		    join(&found, &mount, rest) == 0)
			best_root_len = strlen(mount.root);
	}
	if (best_root_len != SIZE_MAX) {
		*cgroup = found;
		return 0;
	}
	explain(why, found.version, mounted, controller, path);
	return -1;
}

bool sz_cgroup_up(struct sz_cgroup *cgroup)
{
	char *slash = strrchr(cgroup->dir, '/');
	if (!slash || (size_t)(slash - cgroup->dir) < cgroup->top_len)
		return false;
	*slash = '\0';
	return true;
}
