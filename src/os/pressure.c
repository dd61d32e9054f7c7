/* SPDX-License-Identifier: Apache-2.0
 *
 * Pressure stall information.
 */
#include "os/pressure.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "os/scan.h"

/* What follows a word that must stand here, or NULL. */
static const char *expect(const char *text, const char *word)
{
	size_t len = strlen(word);
	return strncmp(text, word, len) == 0 ? text + len : NULL;
}

/* " avg10=12.34": the kernel writes percent with two digits. */
static bool scan_average(const char **at, const char *name, double *ratio)
{
	uint64_t whole, hundredths;
	const char *text = expect(*at, name);
	if (!text || !sz_scan_number(&text, 10, &whole) || *text++ != '.' ||
	    !sz_scan_number(&text, 10, &hundredths))
		return false;
	*ratio = (double)whole / 1e2 + (double)hundredths / 1e4;
	*at = text;
	return true;
}

static bool scan_stall(const char *at, struct sz_stall *stall)
{
	uint64_t total_us;
	struct sz_stall scanned;
	if (!scan_average(&at, " avg10=", &scanned.avg10_ratio) ||
	    !scan_average(&at, " avg60=", &scanned.avg60_ratio) ||
	    !scan_average(&at, " avg300=", &scanned.avg300_ratio))
		return false;
	at = expect(at, " total=");
	if (!at || !sz_scan_number(&at, 10, &total_us) ||
	    __builtin_mul_overflow(total_us, SZ_NS_PER_US, &scanned.total_ns))
		return false;
	*stall = scanned;
	return true;
}

int sz_pressure_scan(const char *text, struct sz_pressure *pressure)
{
	struct sz_pressure scanned = {0};
	const char *some = sz_scan_key(text, "some"), *full = sz_scan_key(text, "full");
	if (!some || !scan_stall(some, &scanned.some) || (full && !scan_stall(full, &scanned.full)))
		return -EBADMSG;
	*pressure = scanned;
	return 0;
}

int sz_pressure_read(const struct sz_os *os, enum sz_resource resource,
		     struct sz_pressure *pressure)
{
	static const char *const name[] = {
		[SZ_RESOURCE_CPU] = "cpu",
		[SZ_RESOURCE_MEMORY] = "memory",
		[SZ_RESOURCE_IO] = "io",
	};
	char text[512];
	ssize_t len = sz_os_read(os, text, sizeof(text), "proc/pressure/%s", name[resource]);
	if (len == -ENOENT || len == -EOPNOTSUPP)
		return -ENODATA; /* built without it, or booted without psi=1 */
	return len < 0 ? (int)len : sz_pressure_scan(text, pressure);
}

int sz_stalls_read(const struct sz_os *os, struct sz_stalls *stalls)
{
	struct sz_pressure cpu, memory;
	int status = sz_pressure_read(os, SZ_RESOURCE_CPU, &cpu);
	if (status == 0)
		status = sz_pressure_read(os, SZ_RESOURCE_MEMORY, &memory);
	if (status == 0)
		*stalls = (struct sz_stalls){cpu.some.total_ns, memory.some.total_ns,
					     memory.full.total_ns};
	return status;
}
