/* SPDX-License-Identifier: Apache-2.0
 *
 * From the options of `sizeup load` to what is asked for: refuses what does not go
 * together.
 */
#include "cli/load-options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define SPEED_LEAST 0.001
#define SPEED_MOST 1000.0
#define PRECISION_LEAST 0.1 /* percent */
#define PRECISION_MOST 50.0
#define PRECISE_AFTER_NS SZ_NS_PER_S
#define ROUNDS_MOST_NS (24 * 3600 * SZ_NS_PER_S) /* their number ends them */

static int fill_rate(const struct sz_load_options *options, struct sz_load_config *config,
		     struct sz_err *err)
{
	if (!options->rate)
		return 0;
	config->arrivals = SZ_ARRIVALS_OPEN;
	config->late = (enum sz_late)options->late;
	config->rate.poisson = options->arrivals == 1;
	config->rate.seed = options->seed;
	if (sz_rate_parse(options->rate, options->duration_ns, &config->rate, err) < 0)
		return sz_err_wrap(err, "--rate");
	return 0;
}

/* Calls until the duration ends; their mean rate is the pace of catching up. */
static size_t count_until(const struct sz_requests *requests, double until_ns)
{
	size_t count = 0;
	while (count < requests->count && (double)requests->items[count].at_ns < until_ns)
		count++;
	return count;
}

static int fill_replay(const struct sz_load_options *options, struct sz_load_config *config,
		       struct sz_err *err)
{
	char *end;
	if (!options->request.log)
		return 0;
	if (options->shard || options->out || options->threads > 1) {
		sz_err_set(err, SZ_USAGE, 0, "--log excludes --shard, --out and --threads");
		return sz_err_hint(err, "its calls come when they came");
	}
	double speed = strtod(options->speed, &end);
	if (*end || !(speed >= SPEED_LEAST && speed <= SPEED_MOST)) {
		sz_err_set(err, SZ_USAGE, 0, "--speed: '%.40s' is out of range", options->speed);
		return sz_err_hint(err, "give a number from %g to %g", SPEED_LEAST, SPEED_MOST);
	}
	double duration_s = sz_ns_to_s(options->duration_ns);
	size_t count = count_until(config->requests, duration_s * speed * 1e9);
	if (count < config->requests->count)
		fprintf(stderr,
			"sizeup: the first %zu of %zu calls come within %g s; a longer "
			"--duration takes more\n",
			count, config->requests->count, duration_s);
	config->arrivals = SZ_ARRIVALS_OPEN;
	config->late = (enum sz_late)options->late;
	config->replay_speed = speed;
	uint64_t plays_ns = sz_cli_load_duration_ns(options, config);
	double rate_rps = (double)count / sz_ns_to_s(plays_ns);
	rate_rps = fmin(fmax(rate_rps, SZ_RATE_MIN_RPS), SZ_RATE_MAX_RPS);
	config->rate = (struct sz_rate){.leg = {{rate_rps, rate_rps, plays_ns}}, .count = 1};
	return 0;
}

/* How requests come. A HAR file may be the mix of an open loop, too. */
enum mode { LOOP, OPEN, REPLAY, BURSTS, STREAMS };

static enum mode mode_of(const struct sz_load_options *options)
{
	if (options->hold)
		return STREAMS;
	if (options->rate)
		return OPEN;
	if (options->request.log)
		return REPLAY;
	return options->burst || options->request.har ? BURSTS : LOOP;
}

#define IN(mode) (1u << (mode))

/* What would have no effect, by name. */
static int check_modes(const struct sz_load_options *options, struct sz_err *err)
{
	static const char *const modes[] = {[LOOP] = "a closed loop",
					    [OPEN] = "--rate",
					    [REPLAY] = "--log",
					    [BURSTS] = "bursts (--burst or --har)",
					    [STREAMS] = "--hold"};
	const struct {
		const char *name;
		bool is_given;
		unsigned modes;
	} rows[] = {
		{"--rate", options->rate != NULL, IN(OPEN)},
		{"--burst", options->burst > 0, IN(BURSTS)},
		{"--har", options->request.har != NULL, IN(OPEN) | IN(BURSTS)},
		{"--log", options->request.log != NULL, IN(REPLAY)},
		{"--speed", strcmp(options->speed, "1") != 0, IN(REPLAY)},
		{"--late", options->late != SZ_LATE_SEND, IN(OPEN) | IN(REPLAY)},
		{"--think", options->think_ns > 0, IN(LOOP)},
		{"--arrivals", options->arrivals != 0,
		 IN(OPEN) | (options->think_ns ? IN(LOOP) : 0)},
		{"--rounds", options->rounds != SZ_LOAD_ROUNDS_UNSAID, IN(BURSTS)},
		{"--every", options->every_ns > 0, IN(BURSTS)},
		{"--requests", options->requests > 0, IN(LOOP)},
		{"--precision", options->precision != NULL, IN(LOOP)},
		{"--reconnect-every", options->reconnect_every > 0, ~IN(STREAMS)},
		{"--expect-body", options->expect_body != NULL, ~IN(STREAMS)},
	};
	enum mode mode = mode_of(options);
	for (size_t i = 0; i < SZ_ARRAY_LEN(rows); i++) {
		if (!rows[i].is_given || (rows[i].modes & IN(mode)))
			continue;
		sz_err_set(err, SZ_USAGE, 0, "%s has no effect in %s", rows[i].name, modes[mode]);
		/* The mode that it is of; a closed loop has no option of its own. */
		unsigned of = (unsigned)__builtin_ctz(rows[i].modes & ~IN(mode));
		return sz_err_hint(err, "leave it out, or load otherwise: it is of %s", modes[of]);
	}
	return 0;
}

static int fill_csv(const struct sz_load_options *options, struct sz_load_config *config,
		    struct sz_err *err)
{
	if (!options->csv)
		return 0;
	config->wants_seconds = true;
	if (!options->out && options->threads == 1)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "--csv excludes --out and --threads");
	return sz_err_hint(err, "leave one of them out: the seconds of several loads are not "
				"added");
}

static int fill_burst(const struct sz_load_options *options, struct sz_load_config *config,
		      struct sz_err *err)
{
	unsigned connections = (unsigned)options->burst;
	if (config->arrivals == SZ_ARRIVALS_OPEN)
		return sz_cli_no_users(options->users, err);
	sz_cli_fill_page(&options->request, &connections, config);
	if (!connections)
		return sz_cli_no_users(options->users, err);
	config->arrivals = SZ_ARRIVALS_BURST;
	return sz_cli_fill_users(connections, options->users, config, err);
}

int sz_cli_load_config(const struct sz_load_options *options, const struct sz_parsed *parsed,
		       struct sz_cli_asked *asked, struct sz_load_config *config,
		       struct sz_err *err)
{
	*config = (struct sz_load_config){
		.clients = (unsigned)options->clients,
		.seed = options->seed,
		.pause_ns = SZ_LOAD_PAUSE_NS,
		.every_ns = options->every_ns,
		.connect = (enum sz_connect_mode)options->connect,
		.reconnect_every = options->reconnect_every,
		.timeout_ns = options->timeout_ns,
		.warmup_ns = options->warmup_ns,
		.think_ns = options->think_ns,
		.think_random = options->arrivals == 1,
	};
	if (options->hold)
		config->arrivals = SZ_ARRIVALS_STREAMS;
	if (check_modes(options, err) < 0 || fill_rate(options, config, err) < 0 ||
	    sz_cli_fill_expected(options->expect_body, config, err) < 0 ||
	    sz_cli_ask(&options->request, parsed->operand, parsed->operand_count, asked, config,
		       err) < 0)
		return -1;
	if (fill_replay(options, config, err) < 0 || fill_csv(options, config, err) < 0)
		return -1;
	return fill_burst(options, config, err);
}

uint64_t sz_cli_load_duration_ns(const struct sz_load_options *options,
				 const struct sz_load_config *config)
{
	const struct sz_requests *requests = config->requests;
	if (config->replay_speed == 0)
		return options->duration_ns;
	double last_ns = (double)requests->items[requests->count - 1].at_ns / config->replay_speed;
	return (uint64_t)fmin((double)options->duration_ns, last_ns + SZ_NS_PER_MS);
}

static int parse_precision(const char *text, double *ratio, struct sz_err *err)
{
	char *end;
	double percent = strtod(text, &end);
	if ((*end == '\0' || strcmp(end, "%") == 0) && percent >= PRECISION_LEAST &&
	    percent <= PRECISION_MOST) {
		*ratio = percent / 100;
		return 0;
	}
	sz_err_set(err, SZ_USAGE, 0, "--precision: '%.40s' is not a precision", text);
	return sz_err_hint(err, "give a percentage from %g%% to %g%%, as 3%%", PRECISION_LEAST,
			   PRECISION_MOST);
}

/* A closed loop of one process may end before its time. */
static int fill_goal(const struct sz_load_options *options, struct sz_load_span *span,
		     struct sz_err *err)
{
	if (!options->requests && !options->precision)
		return 0;
	if (options->threads > 1 || options->shard) {
		sz_err_set(err, SZ_USAGE, 0,
			   "--requests and --precision end a load of one thread and one machine");
		return sz_err_hint(err, "leave them out; --duration ends every load");
	}
	span->requests = options->requests;
	span->min_ns = options->precision ? PRECISE_AFTER_NS : 0;
	if (span->min_ns > span->max_ns)
		span->min_ns = span->max_ns;
	return options->precision ? parse_precision(options->precision, &span->error_ratio, err)
				  : 0;
}

int sz_cli_load_span(const struct sz_load_options *options, const struct sz_load_config *config,
		     struct sz_load_span *span, struct sz_err *err)
{
	uint64_t duration_ns = sz_cli_load_duration_ns(options, config);
	if (config->arrivals == SZ_ARRIVALS_BURST)
		*span = (struct sz_load_span){.rounds = options->rounds, .max_ns = ROUNDS_MOST_NS};
	else
		*span = (struct sz_load_span){.min_ns = duration_ns, .max_ns = duration_ns};
	return fill_goal(options, span, err);
}
