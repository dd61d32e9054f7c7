/* SPDX-License-Identifier: Apache-2.0
 *
 * One time type for the whole program: uint64_t nanoseconds of
 * CLOCK_MONOTONIC. The wall clock may step; it is never used to measure.
 */
#ifndef SZ_BASE_CLOCK_H
#define SZ_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SZ_NS_PER_US UINT64_C(1000)
#define SZ_NS_PER_MS UINT64_C(1000000)
#define SZ_NS_PER_S UINT64_C(1000000000)

static inline uint64_t sz_timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * SZ_NS_PER_S + (uint64_t)ts->tv_nsec;
}

static inline struct timespec sz_ns_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / SZ_NS_PER_S),
		.tv_nsec = (long)(ns % SZ_NS_PER_S),
	};
}

static inline uint64_t sz_clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return sz_timespec_ns(&ts);
}

/* Now, on the one clock. */
static inline uint64_t sz_now_ns(void)
{
	return sz_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. */
static inline uint64_t sz_thread_cpu_ns(void)
{
	return sz_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of this process, all threads, without children. */
static inline uint64_t sz_process_cpu_ns(void)
{
	return sz_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double sz_ns_to_s(uint64_t ns)
{
	return (double)ns / 1e9;
}

static inline double sz_ns_to_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

#endif
