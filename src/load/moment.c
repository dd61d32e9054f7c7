/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

/* `width` digits at *at, which moves behind them and behind `end`, the
 * character that must follow ('\0': none). */
static bool take_number(const char **at, size_t width, char end, int *number)
{
	int value = 0;
	for (size_t i = 0; i < width; i++) {
		char digit = (*at)[i];
		if (digit < '0' || digit > '9')
			return false;
		value = value * 10 + (digit - '0');
	}
	if (end && (*at)[width] != end)
		return false;
	*number = value;
	*at += width + (end != '\0');
	return true;
}

/* "Oct/" */
static bool take_month(const char **at, int *month)
{
	static const char names[][5] = {"Jan/", "Feb/", "Mar/", "Apr/", "May/", "Jun/",
					"Jul/", "Aug/", "Sep/", "Oct/", "Nov/", "Dec/"};
	for (int i = 0; i < 12; i++) {
		if (strncmp(*at, names[i], 4) == 0) {
			*month = i + 1;
			*at += 4;
			return true;
		}
	}
	return false;
}

/* "+0130", or with `colon` "+01:30". */
static bool take_zone(const char **at, char colon, int *offset_s)
{
	int hours, minutes;
	char sign = **at;
	if (sign != '+' && sign != '-')
		return false;
	++*at;
	if (!take_number(at, 2, colon, &hours) || !take_number(at, 2, '\0', &minutes) ||
	    hours > 14 || minutes > 59)
		return false;
	*offset_s = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
	return true;
}

/* From a calendar with months from 1 and whole years. Years end before
 * nanoseconds since 1970 leave 63 bits. */
static bool seconds_of(struct tm calendar, int offset_s, int64_t *s)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	if (calendar.tm_year < 1970 || calendar.tm_year > 2261 || calendar.tm_mon < 1 ||
	    calendar.tm_mon > 12 || calendar.tm_mday < 1 ||
	    calendar.tm_mday > days[calendar.tm_mon - 1] || calendar.tm_hour > 23 ||
	    calendar.tm_min > 59 || calendar.tm_sec > 60)
		return false;
	calendar.tm_year -= 1900;
	calendar.tm_mon -= 1;
	*s = timegm(&calendar) - offset_s;
	return true;
}

bool sz_moment_from_log(const char *text, int64_t *s)
{
	struct tm calendar = {0};
	int offset_s;
	const char *at = text;
	return take_number(&at, 2, '/', &calendar.tm_mday) && take_month(&at, &calendar.tm_mon) &&
	       take_number(&at, 4, ':', &calendar.tm_year) &&
	       take_number(&at, 2, ':', &calendar.tm_hour) &&
	       take_number(&at, 2, ':', &calendar.tm_min) &&
	       take_number(&at, 2, ' ', &calendar.tm_sec) && take_zone(&at, '\0', &offset_s) &&
	       seconds_of(calendar, offset_s, s);
}

/* ".45": any number of digits, of which nine count. */
static bool take_fraction(const char **at, int64_t *ns)
{
	int64_t unit = (int64_t)SZ_NS_PER_S / 10;
	*ns = 0;
	if (**at != '.')
		return true;
	size_t digits = strspn(++*at, "0123456789");
	for (size_t i = 0; i < digits; i++, unit /= 10)
		*ns += unit * ((*at)[i] - '0');
	*at += digits;
	return digits > 0;
}

bool sz_moment_from_iso(const char *text, int64_t *ns)
{
	struct tm calendar = {0};
	int offset_s = 0;
	int64_t s, fraction_ns;
	const char *at = text;
	if (!take_number(&at, 4, '-', &calendar.tm_year) ||
	    !take_number(&at, 2, '-', &calendar.tm_mon) ||
	    !take_number(&at, 2, 'T', &calendar.tm_mday) ||
	    !take_number(&at, 2, ':', &calendar.tm_hour) ||
	    !take_number(&at, 2, ':', &calendar.tm_min) ||
	    !take_number(&at, 2, '\0', &calendar.tm_sec) || !take_fraction(&at, &fraction_ns))
		return false;
	if (strcmp(at, "Z") == 0)
		at++;
	else if (!take_zone(&at, ':', &offset_s))
		return false;
	if (*at || !seconds_of(calendar, offset_s, &s))
		return false;
	*ns = s * (int64_t)SZ_NS_PER_S + fraction_ns;
	return true;
}
