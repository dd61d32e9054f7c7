/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs: whatever is accepted can be sent in a request as it is, and written
 * as a URL again means the same.
 */
#include "net/url.h"
#include "fuzz.h"

static void check_target(const char *target)
{
	FUZZ_CHECK(target[0] == '/');
	for (const char *c = target; *c; c++)
		FUZZ_CHECK((unsigned char)*c > ' ' && *c != 0x7f && *c != '#');
}

static void check_round_trip(const struct sz_url *url)
{
	char host[272];
	char text[2400];
	snprintf(text, sizeof(text), "http%s://%s%s", url->tls ? "s" : "",
		 sz_url_host_header(url, host), url->target);
	struct sz_url again = {0};
	FUZZ_CHECK(sz_url_parse(text, &again, NULL) == 0);
	FUZZ_CHECK(strcmp(again.host, url->host) == 0 && again.port == url->port);
	FUZZ_CHECK(again.tls == url->tls);
	FUZZ_CHECK(strcmp(again.target, url->target) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct sz_err err = {0};
	struct sz_url url = {.port = 4711};
	if (sz_url_parse(text, &url, &err) < 0) {
		FUZZ_CHECK(url.port == 4711 && !url.host[0] && !url.target[0]);
		FUZZ_CHECK(err.code == SZ_USAGE && err.message[0]);
	} else {
		check_target(url.target);
		FUZZ_CHECK((url.host[0] == '\0') == (url.port == 0));
		if (url.port)
			check_round_trip(&url);
	}
	free(text);
	return 0;
}
