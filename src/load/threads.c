/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads share what is only read (requests, the configuration of TLS) and
 * a meeting point; each has a load of its own.
 */
#include "load/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "load/inside.h"

/* From the meeting to the first request of all, beside the warm-up. */
#define LEAD_NS (20 * SZ_NS_PER_MS)

struct worker;

struct crew {
	struct sz_load_span span; /* its callbacks are the caller's, for the first thread */
	struct worker *workers;
	uint64_t warmup_ns;
	pthread_mutex_t lock;
	pthread_cond_t met;
	unsigned expected, arrived;
	bool failed; /* somebody cannot go on, so nobody shall */
};

struct worker {
	struct crew *crew;
	pthread_t thread;
	struct sz_load_config config;
	struct sz_load *load;
	struct sz_shard_run run; /* owns nothing: what its result points to is the load's */
	struct sz_err err;
	_Atomic uint64_t ok; /* good answers, as of its last poll */
	bool is_running;     /* the thread is to be joined */
	bool failed;
};

/* --- the meeting --- */

static void open_door(struct crew *crew)
{
	if (crew->span.start_ns == 0)
		crew->span.start_ns = sz_now_ns() + crew->warmup_ns + LEAD_NS;
	pthread_cond_broadcast(&crew->met);
}

/* Until all have connected. False: go no further. */
static bool meet(struct crew *crew, bool failed)
{
	pthread_mutex_lock(&crew->lock);
	crew->failed |= failed;
	if (++crew->arrived == crew->expected)
		open_door(crew);
	while (crew->arrived < crew->expected)
		pthread_cond_wait(&crew->met, &crew->lock);
	bool go_on = !crew->failed;
	pthread_mutex_unlock(&crew->lock);
	return go_on;
}

/* One who is never going to come. */
static void miss(struct crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->failed = true;
	if (--crew->expected == crew->arrived)
		open_door(crew);
	pthread_mutex_unlock(&crew->lock);
}

/* --- what the caller is told, on its own thread --- */

static void tell_poll(void *arg, uint64_t ok)
{
	struct worker *worker = arg;
	const struct crew *crew = worker->crew;
	uint64_t sum = 0;
	atomic_store(&worker->ok, ok);
	if (worker != crew->workers || !crew->span.at_poll)
		return;
	for (unsigned i = 0; i < crew->expected; i++)
		sum += atomic_load(&crew->workers[i].ok);
	crew->span.at_poll(crew->span.arg, sum);
}

static void tell_edge(void *arg, enum sz_edge edge)
{
	const struct worker *worker = arg;
	const struct crew *crew = worker->crew;
	if (worker == crew->workers && crew->span.at_edge)
		crew->span.at_edge(crew->span.arg, edge);
}

/* --- a thread --- */

static void *work(void *arg)
{
	struct worker *worker = arg;
	int status = sz_load_new(&worker->config, &worker->load, &worker->err);
	if (status == 0)
		status = sz_load_open(worker->load, &worker->err);
	worker->failed = status < 0;
	if (!meet(worker->crew, worker->failed) || worker->failed)
		return NULL;
	struct sz_load_span span = worker->crew->span;
	span.at_poll = tell_poll;
	span.at_edge = tell_edge;
	span.arg = worker;
	status = sz_load_window(worker->load, &span, &worker->run.result, &worker->err);
	worker->failed = status < 0;
	return NULL;
}

static void start(struct worker *worker)
{
	int errnum = pthread_create(&worker->thread, NULL, work, worker);
	worker->is_running = errnum == 0;
	if (errnum == 0)
		return;
	sz_err_set(&worker->err, SZ_MACHINE, errnum, "cannot start a thread");
	worker->failed = true;
	miss(worker->crew);
}

/* --- all of them --- */

static int hire(const struct sz_load_config *config, struct crew *crew, unsigned number,
		unsigned threads, struct worker *worker, struct sz_err *err)
{
	const struct sz_shard shard = {.number = number, .of = threads};
	worker->crew = crew;
	worker->run.shard = shard;
	worker->run.config = *config;
	if (sz_shard_config(&shard, config, &worker->config, err) < 0)
		return sz_err_wrap(err, "--threads");
	if (worker->config.clients >= config->streams)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "each of %u threads would have %u clients, and --streams %u",
		   threads, worker->config.clients, config->streams);
	return sz_err_hint(err, "give more --clients, or fewer --threads");
}

static int hire_all(const struct sz_load_config *config, struct crew *crew, struct worker *workers,
		    unsigned threads, struct sz_err *err)
{
	for (unsigned i = 0; i < threads; i++) {
		if (hire(config, crew, i + 1, threads, &workers[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Connections, and an epoll of each. */
static unsigned descriptors_of(const struct worker *workers, unsigned threads)
{
	unsigned count = threads;
	for (unsigned i = 0; i < threads; i++)
		count += sz_load_connections(&workers[i].config);
	return count;
}

static void dismiss(struct worker *workers, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++)
		sz_load_free(workers[i].load);
	free(workers);
}

static int add_up(struct worker *workers, unsigned threads, struct sz_shard_run *run,
		  struct sz_err *err)
{
	struct sz_shard_run *runs[SZ_LOAD_THREADS_MAX];
	for (unsigned i = 0; i < threads; i++) {
		if (workers[i].failed) {
			if (err)
				*err = workers[i].err;
			return -1;
		}
		runs[i] = &workers[i].run;
	}
	struct sz_shard_run *sum = sz_shard_runs_add(runs, threads, err);
	if (!sum)
		return -1;
	run->result = sum->result;
	run->parts = sum->parts;
	run->arena = sum->arena;
	free(sum); /* what it owned is the run's now */
	return 0;
}

static int work_together(struct worker *workers, unsigned threads, struct sz_shard_run *run,
			 struct sz_err *err)
{
	for (unsigned i = 1; i < threads; i++)
		start(&workers[i]);
	work(&workers[0]);
	for (unsigned i = 1; i < threads; i++) {
		if (workers[i].is_running)
			pthread_join(workers[i].thread, NULL);
	}
	return add_up(workers, threads, run, err);
}

int sz_load_by_threads(const struct sz_load_config *config, unsigned threads,
		       const struct sz_load_span *span, struct sz_shard_run *run,
		       struct sz_err *err)
{
	struct rlimit before;
	struct crew crew = {.span = *span,
			    .warmup_ns = config->warmup_ns,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .met = PTHREAD_COND_INITIALIZER,
			    .expected = threads};
	crew.span.precise_enough = NULL;
	struct worker *workers = crew.workers = calloc(threads, sizeof(*workers));
	if (!workers)
		return sz_err_nomem(err);
	int status = hire_all(config, &crew, workers, threads, err);
	/* Each load looks only at its own need. */
	if (status == 0)
		status = sz_load_raise_limit(descriptors_of(workers, threads), &before, err);
	if (status == 0) {
		status = work_together(workers, threads, run, err);
		dismiss(workers, threads);
		setrlimit(RLIMIT_NOFILE, &before);
		return status;
	}
	free(workers);
	return status;
}
