/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampling thread. It owns its looks until it is joined; what is shared is
 * the request to stop, and the target, which both sides only read.
 */
#include "measure/sampler.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "os/track.h"

#define LOOKS_PER_TREE 10
#define LOOKS_PER_SECOND (SZ_NS_PER_S / SZ_SAMPLE_NS)

struct look {
	uint64_t at_ns;
	uint64_t own_cpu_ns; /* of sizeup */
	struct sz_tracked_sum sum;
};

struct sz_sampler {
	const struct sz_os *os;
	const struct sz_target *target;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	/* The thread's. */
	struct sz_tree tree;
	struct sz_track track;
	struct look *looks;
	size_t count, cap;
	uint64_t begun_ns, ended_ns, cost_ns;
};

/* A look for which memory is out is left out. */
static void look(struct sz_sampler *sampler, unsigned number)
{
	if (number % LOOKS_PER_TREE == 0 && sz_target_tree(sampler->target, &sampler->tree) == 0)
		sz_track_follow(&sampler->track, sampler->os, &sampler->tree,
				sz_target_guard_pid(sampler->target));
	if (sz_grow(&sampler->looks, &sampler->cap, sampler->count + 1, sizeof(struct look)) < 0)
		return;
	struct look *look = &sampler->looks[sampler->count++];
	sz_track_read(&sampler->track, sampler->os, &look->sum);
	look->own_cpu_ns = sz_process_cpu_ns();
	look->at_ns = sz_now_ns();
}

/* Until the next look is due. True: no, stop. */
static bool wait_until(struct sz_sampler *sampler, uint64_t due_ns)
{
	const struct timespec due = {.tv_sec = (time_t)(due_ns / SZ_NS_PER_S),
				     .tv_nsec = (long)(due_ns % SZ_NS_PER_S)};
	int rc = 0;
	pthread_mutex_lock(&sampler->lock);
	while (!sampler->stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&sampler->wake, &sampler->lock, &due);
	bool stop = sampler->stop;
	pthread_mutex_unlock(&sampler->lock);
	return stop;
}

/* A look that comes late moves the later ones: they are not made up for. */
static void *sample(void *arg)
{
	struct sz_sampler *sampler = arg;
	uint64_t due_ns = sampler->begun_ns = sz_now_ns();
	for (unsigned number = 0; !wait_until(sampler, due_ns); number++) {
		look(sampler, number);
		uint64_t now_ns = sz_now_ns();
		due_ns += SZ_SAMPLE_NS;
		if (due_ns < now_ns)
			due_ns = now_ns + SZ_SAMPLE_NS;
	}
	sampler->ended_ns = sz_now_ns();
	sampler->cost_ns = sz_thread_cpu_ns();
	return NULL;
}

/* Signals are for the thread that runs the program. */
static int create_thread(struct sz_sampler *sampler)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&sampler->thread, NULL, sample, sampler);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void free_sampler(struct sz_sampler *sampler)
{
	sz_tree_fini(&sampler->tree);
	sz_track_fini(&sampler->track);
	pthread_cond_destroy(&sampler->wake);
	pthread_mutex_destroy(&sampler->lock);
	free(sampler->looks);
	free(sampler);
}

int sz_sampler_start(const struct sz_os *os, const struct sz_target *target,
		     struct sz_sampler **sampler, struct sz_err *err)
{
	struct sz_sampler *made = calloc(1, sizeof(*made));
	pthread_condattr_t monotonic;
	if (!made)
		return sz_err_nomem(err);
	made->os = os;
	made->target = target;
	pthread_mutex_init(&made->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&made->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int rc = create_thread(made);
	if (rc != 0) {
		free_sampler(made);
		sz_err_set(err, SZ_MACHINE, rc, "cannot start the thread that samples");
		return sz_err_hint(err, "raise the limit of processes (ulimit -u, pids.max)");
	}
	*sampler = made;
	return 0;
}

/* The busiest stretch of a second, in cores. */
static double client_peak(const struct look *looks, size_t count)
{
	double peak = SZ_NAN;
	for (size_t i = LOOKS_PER_SECOND; i < count; i++) {
		const struct look *from = &looks[i - LOOKS_PER_SECOND], *to = &looks[i];
		double cores = (double)(to->own_cpu_ns - from->own_cpu_ns) /
			       (double)(to->at_ns - from->at_ns);
		peak = fmax(peak, cores);
	}
	return peak;
}

static void summarise(const struct look *looks, size_t count, struct sz_samples *samples)
{
	bool whole = count > 0;
	samples->looks = (unsigned)count;
	samples->client_peak_cores = client_peak(looks, count);
	for (size_t i = 0; i < count; i++) {
		const struct sz_tracked_sum *sum = &looks[i].sum;
		whole &= sum->whole && sum->processes > 0;
		if (sum->rss_bytes > samples->rss_peak_bytes)
			samples->rss_peak_bytes = sum->rss_bytes;
		if (sum->processes > samples->processes_peak)
			samples->processes_peak = sum->processes;
		if (sum->threads > samples->threads_peak)
			samples->threads_peak = sum->threads;
	}
	if (!whole)
		samples->rss_peak_bytes = -1;
}

void sz_sampler_stop(struct sz_sampler *sampler, uint64_t from_ns, uint64_t to_ns,
		     struct sz_samples *samples)
{
	size_t first = 0, end;
	if (!sampler)
		return;
	pthread_mutex_lock(&sampler->lock);
	sampler->stop = true;
	pthread_cond_signal(&sampler->wake);
	pthread_mutex_unlock(&sampler->lock);
	pthread_join(sampler->thread, NULL);
	while (first < sampler->count && sampler->looks[first].at_ns < from_ns)
		first++;
	for (end = first; end < sampler->count && sampler->looks[end].at_ns <= to_ns;)
		end++;
	if (samples) {
		*samples = (struct sz_samples){
			.cost_cores = (double)sampler->cost_ns /
				      (double)(sampler->ended_ns - sampler->begun_ns)};
		summarise(sampler->looks + first, end - first, samples);
	}
	free_sampler(sampler);
}
