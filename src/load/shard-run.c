/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shard's run is: which of its members go into a file, whose it is, and
 * whether two were asked for the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "load/inside.h"
#include "load/requests-inside.h"
#include "load/shard-inside.h"

#define RUN(name_, member_, most_)                                                                 \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct sz_shard_run, member_),                 \
		.bytes = sizeof(((struct sz_shard_run *)NULL)->member_), .most = (most_)           \
	}
#define ASKED(member, most) RUN(#member, config.member, most)

/* What all shards have to agree on. Numbers of enumerations stay what they are. */
static const struct sz_member asked[] = {
	RUN("shards", shard.of, SZ_SHARDS_MAX),
	RUN("requests_digest", requests, SZ_SHARD_COUNT_MAX),
	RUN("start_at_unix_ns", start_at_ns, INT64_MAX),
	RUN("duration_ns", duration_ns, SZ_SHARD_COUNT_MAX),
	RUN("rounds", rounds, SZ_LOAD_ROUNDS_MAX),
	RUN("tls", config.url.tls, 1),
	ASKED(arrivals, SZ_ARRIVALS_STREAMS),
	ASKED(clients, (uint64_t)SZ_LOAD_CLIENTS_MAX *SZ_SHARDS_MAX),
	ASKED(users, SZ_LOAD_CLIENTS_MAX),
	ASKED(calls, SZ_REQUESTS_MAX),
	ASKED(http, SZ_HTTP_1_0),
	ASKED(streams, SZ_LOAD_CLIENTS_MAX),
	ASKED(connect, SZ_CONNECT_BURST),
	ASKED(late, SZ_LATE_DROP),
	ASKED(pause_ns, SZ_SHARD_COUNT_MAX),
	ASKED(every_ns, SZ_SHARD_COUNT_MAX),
	ASKED(reconnect_every, SZ_SHARD_COUNT_MAX),
	ASKED(timeout_ns, SZ_SHARD_COUNT_MAX),
	ASKED(warmup_ns, SZ_SHARD_COUNT_MAX),
	ASKED(think_ns, SZ_SHARD_COUNT_MAX),
	ASKED(think_random, 1),
	ASKED(seed, SZ_SHARD_COUNT_MAX),
	RUN("poisson", config.rate.poisson, 1),
};

const struct sz_members sz_shard_asked = {asked, SZ_ARRAY_LEN(asked)};

static const struct sz_member own[] = {
	RUN("shard", shard.number, SZ_SHARDS_MAX),
	RUN("began_unix_ns", began_ns, INT64_MAX),
};

const struct sz_members sz_shard_own = {own, SZ_ARRAY_LEN(own)};

const struct sz_text_member sz_shard_texts[SZ_SHARD_TEXTS] = {
	{"version", offsetof(struct sz_shard_run, version)},
	{"host", offsetof(struct sz_shard_run, host)},
	{"boot", offsetof(struct sz_shard_run, boot)},
	{"url", offsetof(struct sz_shard_run, url)},
};

/* Describing */

/* What is shown to people from somebody else's file is plain ASCII. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

/* FNV-1a, 64 bits: it notices a difference, and hides nothing. */
static void digest(uint64_t *hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < len; i++)
		*hash = (*hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static void digest_text(uint64_t *hash, const char *text)
{
	digest(hash, text, strlen(text) + 1);
}

static void digest_request(uint64_t *hash, const struct sz_request *request)
{
	digest_text(hash, request->method);
	digest_text(hash, request->target);
	digest_text(hash, request->host);
	for (size_t i = 0; i < request->header_count; i++) {
		const struct sz_header *header = &request->headers[i];
		digest_text(hash, header->name);
		digest_text(hash, header->is_secret ? "" : header->value);
	}
	digest(hash, request->body, request->body_bytes);
	digest(hash, &request->weight, sizeof(request->weight));
	digest(hash, request->expected, sizeof(*request->expected));
}

static uint64_t digest_of(const struct sz_load_config *config)
{
	const struct sz_requests *requests = config->requests;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	digest(&hash, config->expected.text, config->expected.len);
	for (size_t i = 0; requests && i < requests->count; i++)
		digest_request(&hash, &requests->items[i]);
	if (config->setup)
		digest_text(&hash, config->setup->items[0].label);
	return hash % SZ_SHARD_COUNT_MAX;
}

/* Of a container it is that of the machine below. */
static void read_boot(char boot[SZ_SHARD_TEXT])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(boot, SZ_SHARD_TEXT, file))
		boot[0] = '\0';
	if (file)
		fclose(file);
	boot[strcspn(boot, "\n")] = '\0';
}

void sz_shard_run_describe(struct sz_shard_run *run)
{
	snprintf(run->version, sizeof(run->version), "%s", SIZEUP_VERSION);
	if (gethostname(run->host, sizeof(run->host) - 1) < 0)
		snprintf(run->host, sizeof(run->host), "unknown");
	read_boot(run->boot);
	make_printable(run->host);
	run->requests = digest_of(&run->config);
}

/* Comparing */

static bool same_rate(const struct sz_rate *a, const struct sz_rate *b)
{
	return a->count == b->count && memcmp(a->leg, b->leg, a->count * sizeof(a->leg[0])) == 0;
}

static bool same_parts(const struct sz_load_result *a, const struct sz_load_result *b)
{
	if (a->part_count != b->part_count)
		return false;
	for (size_t i = 0; i < a->part_count; i++) {
		const char *ours = a->parts[i].label, *theirs = b->parts[i].label;
		if ((ours == NULL) != (theirs == NULL) || (ours && strcmp(ours, theirs) != 0))
			return false;
	}
	return true;
}

bool sz_shard_run_asks_same(const struct sz_shard_run *a, const struct sz_shard_run *b,
			    char difference[SZ_SHARD_TEXT])
{
	for (size_t i = 0; i < sz_shard_asked.count; i++) {
		const struct sz_member *member = &sz_shard_asked.item[i];
		uint64_t ours = sz_member_get(member, a), theirs = sz_member_get(member, b);
		if (ours == theirs)
			continue;
		snprintf(difference, SZ_SHARD_TEXT, "%s is %llu and %llu", member->name,
			 (unsigned long long)ours, (unsigned long long)theirs);
		return false;
	}
	difference[0] = '\0';
	if (strcmp(a->url, b->url) != 0)
		snprintf(difference, SZ_SHARD_TEXT, "the URLs are %.200s and %.200s", a->url,
			 b->url);
	else if (!same_rate(&a->config.rate, &b->config.rate))
		snprintf(difference, SZ_SHARD_TEXT, "the rates differ");
	else if (!same_parts(&a->result, &b->result))
		snprintf(difference, SZ_SHARD_TEXT, "the requests differ");
	return difference[0] == '\0';
}
