/* SPDX-License-Identifier: Apache-2.0
 *
 * What the numbers cannot be trusted in: noise, the client, what was not seen,
 * laws that do not hold.
 */
#include "advise/warn.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"

static void describe_disturbances(const struct sz_sweep *sweep, struct sz_buf *text)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !setting->window.disturbed)
			continue;
		sz_buf_printf(text, "%sat %u: ", text->len ? "; " : "", setting->workers);
		const char *separator = "";
		for (unsigned bit = 0; bit < SZ_DISTURBANCES; bit++) {
			if (!(setting->window.disturbed >> bit & 1))
				continue;
			sz_buf_printf(text, "%s%s", separator, sz_disturbance_text(bit));
			separator = ", ";
		}
	}
}

static void warn_disturbed(struct sz_sweep *sweep)
{
	sz_autobuf struct sz_buf text = {0};
	uint32_t bits = 0;
	describe_disturbances(sweep, &text);
	for (size_t i = 0; i < sweep->setting_count; i++)
		bits |= sweep->setting[i].measured ? sweep->setting[i].window.disturbed : 0;
	if (!bits)
		return;
	/* The first in the order of the enumeration: what comes from outside. */
	sz_remedy(sz_warn(&sweep->advice, "disturbed", "disturbed windows never decide: %s",
			  sz_buf_text(&text)),
		  "%s", sz_disturbance_remedy((enum sz_disturbance)__builtin_ctz(bits)));
}

static void warn_client(struct sz_sweep *sweep)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	/* 70 % of what one core of this client can send. */
	if (!best || !(best->window.throughput_rps >= 0.7 * sweep->client_ceiling_rps))
		return;
	sz_remedy(sz_warn(&sweep->advice, "client-bound",
			  "%.0f req/s is close to the %.0f that this load generator can send over "
			  "plain HTTP/1.1: the service may be faster than the table says",
			  best->window.throughput_rps, sweep->client_ceiling_rps),
		  "choose a URL that does real work");
}

static void warn_loopback(struct sz_sweep *sweep)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	/* Where nobody queues, the cost of a request decides nothing. */
	if (!best || !sweep->advice.saturated || !(best->window.cpu_s_per_request < 50e-6))
		return;
	sz_remedy(sz_warn(&sweep->advice, "loopback",
			  "a request costs the service only %.0f us of CPU, and the loopback "
			  "device "
			  "costs both sides about 4.5 us: the result is about both programs",
			  best->window.cpu_s_per_request * 1e6),
		  "choose a URL that does real work");
}

/* A gate that cannot be read never trips: that must not look like silence. */
static void warn_blind(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured ||
		    (!isnan(setting->window.foreign_cores) && setting->window.workers_known &&
		     !isnan(setting->window.memory_full_ratio)))
			continue;
		sz_remedy(sz_warn(&sweep->advice, "blind",
				  "at %u worker%s %s could not be read, so this is not checked",
				  setting->workers, setting->workers == 1 ? "" : "s",
				  isnan(setting->window.foreign_cores)
					  ? "the CPU time of the machine"
				  : !setting->window.workers_known ? "the sockets of the service"
								   : "/proc/pressure/memory"),
			  "run sizeup with the rights to read /proc of the service; pressure is "
			  "counted by "
			  "a kernel that was booted with psi=1");
		return;
	}
}

static void warn_incomparable(struct sz_sweep *sweep)
{
	if (sweep->advice.incomparable && !sweep->advice.recommended)
		sz_remedy(sz_warn(&sweep->advice, "incomparable",
				  "the undisturbed windows of different settings lie too far apart "
				  "in "
				  "time to "
				  "be compared"),
			  "give it more time (--budget), or a quieter machine");
}

static void warn_alone(struct sz_sweep *sweep)
{
	const struct sz_setting *first = &sweep->setting[sz_smallest_setting(sweep)];
	if (first->measured &&
	    first->window.latency_mean_ms < SZ_CREDIBLE_RATIO * sweep->alone_latency_ms)
		sz_remedy(sz_warn(&sweep->advice, "alone",
				  "one client alone waited %.1f ms, longer than %u clients "
				  "together "
				  "(%.1f "
				  "ms): so it cannot be said whether clients queue",
				  sweep->alone_latency_ms, sweep->clients,
				  first->window.latency_mean_ms),
			  "look for what makes the service slow when it is idle, and repeat");
	if (sweep->visit_count && isnan(sweep->alone_latency_ms) && sz_best_setting(sweep))
		sz_remedy(sz_warn(&sweep->advice, "alone",
				  "the latency of one client alone could not be measured, for "
				  "failed "
				  "requests or a disturbance: so it cannot be said whether clients "
				  "queue"),
			  "repeat on a quiet machine");
}

/* The utilisation law, X D = cores used, holds within a window by how D is
 * measured; that it stays within the cores does not. */
static void warn_utilisation(struct sz_sweep *sweep)
{
	const double allowed = sweep->machine.cores_allowed, slack = 1.05;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !(setting->window.tree_cores > slack * allowed))
			continue;
		sz_remedy(sz_warn(&sweep->advice, "utilisation",
				  "at %u worker%s the service used %.2f cores though its first "
				  "process "
				  "may use %.2f: some of its processes have other limits",
				  setting->workers, setting->workers == 1 ? "" : "s",
				  setting->window.tree_cores, allowed),
			  "look at the affinity and the cgroups of its workers; the cores in this "
			  "answer are those of the first process");
		return;
	}
}

static void warn_drift(struct sz_sweep *sweep)
{
	const double much = 0.10;
	if (sweep->advice.speed_drift > much)
		sz_remedy(sz_warn(&sweep->advice, "speed-drift",
				  "the machine computed up to %.0f %% slower in some windows than "
				  "in "
				  "others: costs per request are corrected for it, throughput "
				  "cannot be",
				  sweep->advice.speed_drift * 100),
			  "look for burst credits, heat, power saving, or neighbours on the same "
			  "cores");
}

void sz_warn_trust(struct sz_sweep *sweep)
{
	static void (*const checks[])(struct sz_sweep *) = {
		warn_disturbed,    warn_client, warn_loopback,    warn_blind,
		warn_incomparable, warn_alone,  warn_utilisation, warn_drift,
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(checks); i++)
		checks[i](sweep);
}
