/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of the day, which machines have in common as far as somebody keeps
 * it right. It is looked at to agree on instants, and never measures.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "base/clock.h"
#include "load/requests-inside.h"
#include "load/shard.h"

#define FARTHEST_NS (24 * 3600 * (int64_t)SZ_NS_PER_S)

/* By adjtimex(2) the estimate grows by 500 us a second while nobody tells the kernel
 * better. A look without changes needs no privilege. */
static int64_t clock_error_ns(void)
{
	struct timex kernel = {.modes = 0};
	if (adjtimex(&kernel) < 0 || kernel.status & STA_UNSYNC)
		return -1;
	return (int64_t)kernel.maxerror * (int64_t)SZ_NS_PER_US;
}

struct sz_wall sz_wall_read(void)
{
	uint64_t before_ns = sz_now_ns();
	uint64_t wall_ns = sz_clock_ns(CLOCK_REALTIME);
	uint64_t middle_ns = before_ns + (sz_now_ns() - before_ns) / 2;
	return (struct sz_wall){
		.ahead_ns = (int64_t)(wall_ns - middle_ns),
		.error_ns = clock_error_ns(),
	};
}

void sz_wall_look_again(struct sz_wall *wall, const struct sz_wall *later)
{
	int64_t moved_ns = llabs(later->ahead_ns - wall->ahead_ns);
	wall->error_ns =
		wall->error_ns < 0 || later->error_ns < 0 ? -1 : later->error_ns + moved_ns;
}

/* "1767225600.25", before the year 2255. */
static bool scan_seconds(const char *text, int64_t *unix_ns)
{
	size_t whole = strspn(text, "0123456789");
	const char *fraction = text + whole;
	int64_t ns = 0, unit = (int64_t)SZ_NS_PER_S / 10;
	if (whole == 0 || whole > 10 || (whole == 10 && text[0] == '9'))
		return false;
	if (*fraction == '.') {
		size_t digits = strspn(++fraction, "0123456789");
		if (digits == 0 || digits > 9)
			return false;
		for (; digits; digits--, unit /= 10)
			ns += unit * (*fraction++ - '0');
	}
	if (*fraction)
		return false;
	*unix_ns = (int64_t)strtoull(text, NULL, 10) * (int64_t)SZ_NS_PER_S + ns;
	return true;
}

int sz_start_parse(const char *text, int64_t *unix_ns, struct sz_err *err)
{
	if (scan_seconds(text, unix_ns) || sz_moment_from_iso(text, unix_ns))
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "--start-at: '%.60s' is no time", text);
	return sz_err_hint(err, "write 2026-07-01T12:00:00Z, or seconds since 1970: "
				"--start-at $(($(date +%%s) + 30))");
}

int sz_start_on_clock(int64_t unix_ns, const struct sz_wall *wall, uint64_t *start_ns,
		      struct sz_err *err)
{
	int64_t at_ns = unix_ns - wall->ahead_ns;
	int64_t ahead_ns = at_ns - (int64_t)sz_now_ns();
	if (ahead_ns <= 0) {
		sz_err_set(err, SZ_USAGE, 0,
			   "--start-at: that was %.1f s ago by this machine's clock",
			   (double)-ahead_ns / 1e9);
		return sz_err_hint(err, "give all shards time to start and connect: --start-at "
					"$(($(date +%%s) + 30))");
	}
	if (ahead_ns > FARTHEST_NS) {
		sz_err_set(err, SZ_USAGE, 0, "--start-at: that is %.1f days ahead",
			   (double)ahead_ns / 86400e9);
		return sz_err_hint(err, "a day is the most; is it in seconds, and in UTC?");
	}
	*start_ns = (uint64_t)at_ns;
	return 0;
}
