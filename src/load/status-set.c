/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define FIRST 200
#define LAST 599

static bool parse_status(const char *text, size_t len, int *status)
{
	if (len != 3 || strspn(text, "0123456789") < 3)
		return false;
	int value = (int)strtol(text, NULL, 10);
	if (value < FIRST || value > LAST)
		return false;
	*status = value;
	return true;
}

/* "2xx", "200" or "200-299". */
static bool parse_range(const char *text, int *first, int *last)
{
	size_t len = strlen(text);
	if (len == 3 && text[0] >= '2' && text[0] <= '5' && strcasecmp(text + 1, "xx") == 0) {
		*first = (text[0] - '0') * 100;
		*last = *first + 99;
		return true;
	}
	if (len == 7 && text[3] == '-')
		return parse_status(text, 3, first) && parse_status(text + 4, 3, last) &&
		       *first <= *last;
	if (!parse_status(text, len, first))
		return false;
	*last = *first;
	return true;
}

int sz_statuses_parse(const char *text, struct sz_statuses *set, struct sz_err *err)
{
	struct sz_statuses parsed = {0};
	sz_autofree char *copy = strdup(text);
	if (!copy)
		return sz_err_nomem(err);
	char *rest = copy;
	for (char *part; (part = strsep(&rest, ","));) {
		int first, last;
		if (!parse_range(part, &first, &last)) {
			sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not a set of expected statuses",
				   text);
			return sz_err_hint(err, "write it like 2xx or 200,204 or 200-299, with "
						"final statuses: 200 to 599");
		}
		for (int status = first; status <= last; status++)
			parsed.bits[status / 64] |= UINT64_C(1) << (status % 64);
	}
	*set = parsed;
	return 0;
}
