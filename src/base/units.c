/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct unit {
	const char *name;
	double scale;
};

static const struct unit count_units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}};
static const struct unit duration_units[] = {
	{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"h", 3600e9},
};
static const struct unit byte_units[] = {
	{"", 1},     {"B", 1},      {"kB", 1e3},      {"MB", 1e6},
	{"GB", 1e9}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824},
};

/* A plain decimal number: no sign, no exponent, no hexadecimal, no locale. */
static bool parse_number(const char *text, double *number, const char **rest)
{
	size_t digits = strspn(text, "0123456789");
	size_t len = digits;
	if (text[len] == '.') {
		size_t fraction = strspn(text + len + 1, "0123456789");
		if (fraction == 0)
			return false;
		len += 1 + fraction;
	}
	if (digits == 0 || len > 24)
		return false;
	*number = strtod(text, NULL);
	*rest = text + len;
	return true;
}

static int parse_quantity(const char *text, const struct unit *units, size_t unit_count,
			  const char *what, const char *example, uint64_t *value,
			  struct sz_err *err)
{
	double number;
	const char *rest;
	if (parse_number(text, &number, &rest)) {
		for (size_t i = 0; i < unit_count; i++) {
			double scaled = number * units[i].scale;
			if (strcmp(rest, units[i].name) != 0)
				continue;
			/* 0.268 * 1e9 is no whole double, though it means one. Above 2^53
			 * a double no longer holds every integer. */
			double whole = round(scaled);
			if (whole > 9007199254740992.0 ||
			    fabs(scaled - whole) > 2 * DBL_EPSILON * whole)
				break;
			*value = (uint64_t)whole;
			return 0;
		}
	}
	sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not %s", text, what);
	return sz_err_hint(err, "write it like %s", example);
}

int sz_parse_count(const char *text, uint64_t *count, struct sz_err *err)
{
	return parse_quantity(text, count_units, SZ_ARRAY_LEN(count_units), "a whole number",
			      "50 or 5k", count, err);
}

int sz_parse_duration_ns(const char *text, uint64_t *ns, struct sz_err *err)
{
	return parse_quantity(text, duration_units, SZ_ARRAY_LEN(duration_units), "a duration",
			      "250ms, 10s or 2m", ns, err);
}

int sz_parse_bytes(const char *text, uint64_t *bytes, struct sz_err *err)
{
	return parse_quantity(text, byte_units, SZ_ARRAY_LEN(byte_units), "a size", "512MiB or 2GB",
			      bytes, err);
}

static int settings_error(const char *text, const char *why, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not a list of settings: %s", text, why);
	return sz_err_hint(err,
			   "write a list like 1,2,4 or a range like 1..16, with values of "
			   "1 to %d",
			   SZ_SETTING_VALUE_MAX);
}

/* Keep the list ascending and without doubles. False when it is full. */
static bool settings_insert(struct sz_settings *settings, unsigned value)
{
	size_t at = 0;
	while (at < settings->count && settings->value[at] < value)
		at++;
	if (at < settings->count && settings->value[at] == value)
		return true;
	if (settings->count == SZ_SETTINGS_MAX)
		return false;
	memmove(&settings->value[at + 1], &settings->value[at],
		(settings->count - at) * sizeof(settings->value[0]));
	settings->value[at] = value;
	settings->count++;
	return true;
}

static bool parse_setting(const char *text, unsigned *value)
{
	size_t len = strlen(text);
	if (len == 0 || len > 4 || strspn(text, "0123456789") != len)
		return false;
	*value = (unsigned)strtoul(text, NULL, 10);
	return *value >= 1 && *value <= SZ_SETTING_VALUE_MAX;
}

/* One element between commas: "4" or "1..16". NULL, or why not. */
static const char *parse_element(char *element, struct sz_settings *settings)
{
	char *dots = strstr(element, "..");
	unsigned first, last;
	if (dots)
		*dots = '\0';
	if (!parse_setting(element, &first))
		return "every value must be a whole number within the range";
	last = first;
	if (dots && !parse_setting(dots + 2, &last))
		return "a range needs two whole numbers within the range";
	if (last < first)
		return "the range runs downwards";
	for (unsigned value = first; value < last; value *= 2) {
		if (!settings_insert(settings, value))
			return "it holds too many values";
	}
	return settings_insert(settings, last) ? NULL : "it holds too many values";
}

int sz_parse_settings(const char *text, struct sz_settings *settings, struct sz_err *err)
{
	struct sz_settings parsed = {0};
	sz_autofree char *copy = strdup(text);
	if (!copy)
		return sz_err_nomem(err);
	if (*copy == '\0')
		return settings_error(text, "it is empty", err);
	char *rest = copy;
	for (char *element; (element = strsep(&rest, ","));) {
		const char *why = parse_element(element, &parsed);
		if (why)
			return settings_error(text, why, err);
	}
	*settings = parsed;
	return 0;
}

/* Three significant digits of value in the largest unit it reaches. */
static const char *format_scaled(char text[SZ_UNIT_TEXT], double value, const struct unit *units,
				 size_t unit_count)
{
	size_t i = 0;
	/* 999.5 of a unit would print as 1000 of it: step to the next one. */
	while (i + 1 < unit_count && value >= units[i + 1].scale * 0.9995)
		i++;
	double scaled = value / units[i].scale;
	int decimals = units[i].scale <= 1 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
	snprintf(text, SZ_UNIT_TEXT, "%.*f %s", decimals, scaled, units[i].name);
	return text;
}

const char *sz_format_duration(char text[SZ_UNIT_TEXT], double ns)
{
	static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	return format_scaled(text, ns, units, SZ_ARRAY_LEN(units));
}

const char *sz_format_bytes(char text[SZ_UNIT_TEXT], double bytes)
{
	static const struct unit units[] = {{"B", 1},
					    {"KiB", 1024},
					    {"MiB", 1048576},
					    {"GiB", 1073741824}};
	return format_scaled(text, bytes, units, SZ_ARRAY_LEN(units));
}
