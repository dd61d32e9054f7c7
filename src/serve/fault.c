/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/opt.h"
#include "base/units.h"
#include "serve/inside.h"

#define TIME_MOST_NS (3600 * SZ_NS_PER_S)
#define NAME_COLUMNS 24
#define SEEN_COLUMNS 16

static int parse_time(const char *text, uint64_t *ns, struct sz_err *err)
{
	uint64_t parsed_ns;
	if (sz_parse_duration_ns(text, &parsed_ns, err) < 0)
		return -1;
	if (parsed_ns == 0 || parsed_ns > TIME_MOST_NS) {
		sz_err_set(err, SZ_USAGE, 0, "%s is out of range", text);
		return sz_err_hint(err, "use a time above 0 and up to 1h");
	}
	*ns = parsed_ns;
	return 0;
}

/* Parsers of arguments: into choice->arg, whose fault is set. */

static int parse_none(const char *text, struct sz_fault_choice *choice, struct sz_err *err)
{
	(void)text;
	sz_err_set(err, SZ_USAGE, 0, "it takes no argument");
	return sz_err_hint(err, "write --fault %s", choice->fault->name);
}

static int check_range(const char *text, uint64_t value, const struct sz_fault *fault,
		       struct sz_err *err)
{
	if (value >= fault->min && value <= fault->max)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "%.60s is out of range", text);
	return sz_err_hint(err, "use a number from %llu to %llu", (unsigned long long)fault->min,
			   (unsigned long long)fault->max);
}

static int parse_count(const char *text, struct sz_fault_choice *choice, struct sz_err *err)
{
	if (sz_parse_count(text, &choice->arg[0], err) < 0)
		return -1;
	return check_range(text, choice->arg[0], choice->fault, err);
}

static int parse_bytes(const char *text, struct sz_fault_choice *choice, struct sz_err *err)
{
	if (sz_parse_bytes(text, &choice->arg[0], err) < 0)
		return -1;
	return check_range(text, choice->arg[0], choice->fault, err);
}

static int parse_one_time(const char *text, struct sz_fault_choice *choice, struct sz_err *err)
{
	return parse_time(text, &choice->arg[0], err);
}

static int parse_two_times(const char *text, struct sz_fault_choice *choice, struct sz_err *err)
{
	char first[32];
	size_t len = strcspn(text, "/");
	if (text[len] == '\0' || len >= sizeof(first)) {
		sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not two durations", text);
		return sz_err_hint(err, "write --fault %s=%s", choice->fault->name,
				   choice->fault->fallback);
	}
	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	if (parse_time(first, &choice->arg[0], err) < 0)
		return -1;
	return parse_time(text + len + 1, &choice->arg[1], err);
}

static const struct {
	const char *placeholder;
	int (*parse)(const char *text, struct sz_fault_choice *choice, struct sz_err *err);
} args[SZ_FAULT_ARGS] = {
	[SZ_FAULT_NONE] = {"", parse_none},
	[SZ_FAULT_COUNT] = {"=N", parse_count},
	[SZ_FAULT_BYTES] = {"=SIZE", parse_bytes},
	[SZ_FAULT_TIME] = {"=TIME", parse_one_time},
	[SZ_FAULT_TIMES] = {"=TIME/EVERY", parse_two_times},
};

static const char *name_at(const void *list, size_t i)
{
	const struct sz_fault *faults = list;
	return faults[i].name;
}

static const struct sz_fault *find(const char *text, size_t len)
{
	for (const struct sz_fault *fault = sz_faults; fault->name; fault++) {
		if (strlen(fault->name) == len && memcmp(fault->name, text, len) == 0)
			return fault;
	}
	return NULL;
}

static int unknown(const char *text, size_t len, struct sz_err *err)
{
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	const char *nearest = sz_nearest(name, name_at, sz_faults);
	sz_err_set(err, SZ_USAGE, 0, "there is no fault '%s'", name);
	if (nearest)
		return sz_err_hint(err, "did you mean --fault %s?", nearest);
	return sz_err_hint(err, "see sizeup serve --fault list");
}

int sz_fault_parse(const char *text, struct sz_fault_choice *choice, struct sz_err *err)
{
	size_t len = strcspn(text, "=");
	struct sz_fault_choice parsed = {.fault = find(text, len)};
	if (!parsed.fault)
		return unknown(text, len, err);
	const char *arg = text[len] ? text + len + 1 : parsed.fault->fallback;
	if (arg && args[parsed.fault->arg].parse(arg, &parsed, err) < 0)
		return sz_err_wrap(err, "--fault %s", parsed.fault->name);
	*choice = parsed;
	return 0;
}

void sz_fault_list(struct sz_buf *out)
{
	sz_buf_printf(out, "%-*s  %-*s  %s\n", NAME_COLUMNS, "FAULT", SEEN_COLUMNS, "SEEN AS",
		      "WHAT THE SERVER DOES [DEFAULT]");
	for (const struct sz_fault *fault = sz_faults; fault->name; fault++) {
		char name[64];
		snprintf(name, sizeof(name), "%s%s", fault->name, args[fault->arg].placeholder);
		sz_buf_printf(out, "%-*s  %-*s  %s", NAME_COLUMNS, name, SEEN_COLUMNS, fault->seen,
			      fault->help);
		if (fault->fallback)
			sz_buf_printf(out, " [%s]", fault->fallback);
		sz_buf_puts(out, "\n");
	}
}
