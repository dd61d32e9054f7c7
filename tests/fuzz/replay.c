/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target on every file of the directory given, and on nothing at
 * all. The file's name is printed first, so that a crash says which it was.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "fuzz.h"

static int replay(int directory, const char *name)
{
	sz_autoclose int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode))
		return 0;
	sz_autofree uint8_t *data = malloc((size_t)st.st_size + 1);
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size)
		return -1;
	printf("%s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	return 1;
}

static int replay_all(DIR *directory)
{
	int count = 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		int done = replay(dirfd(directory), entry->d_name);
		if (done < 0) {
			perror(entry->d_name);
			return -1;
		}
		count += done;
	}
	return count;
}

int main(int argc, char **argv)
{
	DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	if (!directory) {
		fprintf(stderr, "usage: replay DIRECTORY\n");
		return 2;
	}
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	int count = replay_all(directory);
	closedir(directory);
	return count > 0 ? 0 : 1;
}
