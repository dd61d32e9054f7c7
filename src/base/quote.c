/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quote.h"

#include <stdio.h>
#include <string.h>

const char *sz_url_quote(const char *text, char quote[SZ_URL_QUOTE])
{
	size_t scheme = strcspn(text, ":/@");
	size_t start = strncmp(text + scheme, "://", 3) == 0 ? scheme + 3 : 0;
	const char *host = strrchr(text + start, '@');
	if (host)
		snprintf(quote, SZ_URL_QUOTE, "%.*s...%s", (int)start, text, host);
	else
		snprintf(quote, SZ_URL_QUOTE, "%s", text);
	return quote;
}
