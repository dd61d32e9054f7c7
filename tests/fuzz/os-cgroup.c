/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a cgroup is mounted. The input is /proc/PID/cgroup and mountinfo, an
 * empty line between them. The directory found is an absolute path, and going
 * up ends at the mount point.
 */
#include "os/cgroup.h"
#include "fuzz.h"

static void find(const char *cgroups, const char *mounts, const char *controller)
{
	struct sz_cgroup cgroup;
	char why[256];
	if (sz_cgroup_find(cgroups, mounts, controller, &cgroup, why) < 0) {
		FUZZ_CHECK(memchr(why, '\0', sizeof(why)));
		return;
	}
	FUZZ_CHECK(cgroup.version == 1 || cgroup.version == 2);
	size_t len = strnlen(cgroup.dir, sizeof(cgroup.dir));
	FUZZ_CHECK(len < sizeof(cgroup.dir) && cgroup.top_len <= len);
	while (sz_cgroup_up(&cgroup)) {
		size_t shorter = strlen(cgroup.dir);
		FUZZ_CHECK(shorter < len && shorter >= cgroup.top_len);
		len = shorter;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *between = strstr(text, "\n\n");
	if (between) {
		between[1] = '\0';
		find(text, between + 2, "cpu");
		find(text, between + 2, "memory");
	}
	free(text);
	return 0;
}
