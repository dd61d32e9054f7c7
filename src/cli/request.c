/* SPDX-License-Identifier: Apache-2.0
 *
 * What a load asks for, and how it gets there: requests, TLS, address.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

#define AT(member) SZ_OPT_AT(struct sz_cli_request, member)

static const char *const http_choices[] =
	{[SZ_HTTP_1] = "1", [SZ_HTTP_2] = "2", [SZ_HTTP_1_0] = "1.0", NULL};

const struct sz_opt sz_cli_request_options[SZ_CLI_REQUEST_OPTIONS] = {
	{"method", SZ_OPT_TEXT, 'X', AT(method), .arg = "NAME",
	 .help = "instead of GET, or POST with a body"},
	{"header", SZ_OPT_TEXTS, 'H', AT(headers), .arg = "LINE",
	 .help = "another header, as 'Name: value', or @FILE with one a line; "
		 "repeatable"},
	{"body", SZ_OPT_TEXT, 'd', AT(body), .arg = "TEXT", .help = "what to send, or @FILE"},
	{"streamed", SZ_OPT_FLAG, AT(streamed),
	 .help = "send bodies in chunks, without telling their length before"},
	{"bearer-file", SZ_OPT_TEXT, AT(bearer_file), .arg = "PATH",
	 .help = "file with a token on its first line: Authorization: Bearer"},
	{"basic-file", SZ_OPT_TEXT, AT(basic_file), .arg = "PATH",
	 .help = "file with USER:PASSWORD on its first line"},
	{"cookie-file", SZ_OPT_TEXT, AT(cookie_file), .arg = "PATH",
	 .help = "file with NAME=VALUE; NAME=VALUE on its first line"},
	{"expect-status", SZ_OPT_TEXT, AT(expect_status), .arg = "LIST",
	 .help = "good statuses, like 200,404 or 2xx; without it 2xx,3xx"},
	{"list", SZ_OPT_TEXT, AT(list), .arg = "PATH",
	 .help = "file of requests, a line each: [METHOD] URL [weight=N]; URL on the "
		 "command line is then the service, and those of the file may be paths"},
	{"har", SZ_OPT_TEXT, AT(har), .arg = "PATH",
	 .help = "a page as a browser saved it (HAR): in every round each user sends "
		 "its requests in order, over as many connections as the browser had; "
		 "URL "
		 "is the service to send them to"},
	{"setup", SZ_OPT_TEXT, AT(setup), .arg = "PATH",
	 .help = "file with a request that each client sends once, before the load, to log in: "
		 "POST /login on the first line, headers (-H is not for it), an empty line, the "
		 "body; it must be answered 2xx or 3xx. The cookies that this answer sets, and "
		 "none later, go with the client's requests; Path, Max-Age and such are not "
		 "looked at"},
	{"keep-secrets", SZ_OPT_FLAG, AT(keep_secrets),
	 .help = "send the cookies and tokens of --har, too"},
	{"http", SZ_OPT_CHOICE, AT(http), .choices = http_choices, .fallback = "1",
	 .help = "HTTP/1.1, a connection per client; or HTTP/2: as agreed on with https (ALPN), "
		 "unasked with http (prior knowledge); or HTTP/1.0, of which most services close "
		 "every connection"},
	{"streams", SZ_OPT_COUNT, AT(streams), .arg = "N", .min = 1, .max = SZ_LOAD_CLIENTS_MAX,
	 .fallback = "1", .help = "clients that share a connection of --http 2"},
	{"sources", SZ_OPT_COUNT, AT(sources), .arg = "N", .min = 1, .max = 254, .fallback = "1",
	 .help = "connect to 127.0.0.x from 127.0.0.1 to 127.0.0.N in turn: each has some 28,000 "
		 "ports for connections that are open or were closed within the last minute"},
	{"unix-socket", SZ_OPT_TEXT, AT(unix_socket), .arg = "PATH",
	 .help = "connect to this socket; URL says the rest. Of sizeup load alone"},
	{"cacert", SZ_OPT_TEXT, AT(ca), .arg = "PATH",
	 .help = "trust these certificates (PEM) instead of the system's"},
	{"cert", SZ_OPT_TEXT, AT(cert), .arg = "PATH",
	 .help = "show this certificate (PEM), with its key unless --key is given"},
	{"key", SZ_OPT_TEXT, AT(key), .arg = "PATH", .help = "the key of --cert (PEM)"},
	{"insecure", SZ_OPT_FLAG, AT(insecure), .help = "do not verify the service's certificate"},
	{"full-handshakes", SZ_OPT_FLAG, AT(full_handshakes), .help = "resume no session of TLS"},
	{"i-own-this-target", SZ_OPT_FLAG, AT(owned),
	 .help = "load an address that is not this machine's loopback"},
};

static bool reads_file(const struct sz_cli_request *options)
{
	return options->list || options->har || options->log;
}

static int add_urls(struct sz_requests *requests, char *const *urls, size_t count,
		    struct sz_err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (sz_requests_add(requests, urls[i], err) < 0)
			return -1;
	}
	return 0;
}

static void tell_exposed(const struct sz_requests *requests)
{
	if (requests->exposed_file)
		fprintf(stderr, "sizeup: everybody may read the secrets in %s: chmod 600 it\n",
			requests->exposed_file);
}

/* What a file holds and the load does not ask for. */
static void tell_left_out(const struct sz_requests *requests)
{
	for (int i = 0; i < SZ_LEFT_OUT_COUNT; i++) {
		if (requests->left_out[i])
			fprintf(stderr, "sizeup: left out %llu request%s: %s\n",
				(unsigned long long)requests->left_out[i],
				requests->left_out[i] == 1 ? "" : "s",
				sz_left_out_name((enum sz_left_out)i));
	}
	if (requests->out_of_order)
		fprintf(stderr,
			"sizeup: %llu lines are of an earlier time than one before them; they are "
			"sent in the order of time\n",
			(unsigned long long)requests->out_of_order);
	if (requests->first_malformed)
		fprintf(stderr, "sizeup: the first line of another format is %s\n",
			requests->first_malformed);
	if (requests->secrets_dropped)
		fprintf(stderr,
			"sizeup: left out %llu cookies and other secret headers; --keep-secrets "
			"sends them\n",
			(unsigned long long)requests->secrets_dropped);
	tell_exposed(requests);
}

static enum sz_framing framing_of(const struct sz_cli_request *options)
{
	if (!options->streamed)
		return SZ_FRAMED_BY_LENGTH;
	return options->http == SZ_HTTP_2 ? SZ_FRAMED_BY_END : SZ_FRAMED_BY_CHUNKS;
}

static int check_streamed(const struct sz_requests *requests, struct sz_err *err)
{
	for (size_t i = 0; i < requests->count; i++) {
		if (requests->items[i].body)
			return 0;
	}
	sz_err_set(err, SZ_USAGE, 0, "--streamed: no request has a body");
	return sz_err_hint(err, "give one by --body, or leave --streamed out");
}

static int build(const struct sz_cli_request *options, char *const *urls, size_t url_count,
		 struct sz_requests **requests, struct sz_err *err)
{
	bool is_base = reads_file(options) && url_count;
	const struct sz_requests_config config = {
		.base = is_base ? urls[0] : NULL,
		.unix_socket = options->unix_socket,
		.method = options->method,
		.headers = options->headers.count ? options->headers.item : NULL,
		.body = options->body,
		.bearer_file = options->bearer_file,
		.basic_file = options->basic_file,
		.cookie_file = options->cookie_file,
		.expected = options->expect_status,
		.keep_secrets = options->keep_secrets,
		.is_http10 = options->http == SZ_HTTP_1_0,
		.framing = framing_of(options),
	};
	if (sz_requests_new(&config, requests, err) < 0)
		return -1;
	const struct {
		const char *path;
		sz_requests_reader *reader;
	} files[] = {{options->list, sz_requests_read_list},
		     {options->har, sz_requests_read_har},
		     {options->log, sz_requests_read_log}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(files); i++) {
		if (files[i].path &&
		    sz_requests_read_file(*requests, files[i].reader, files[i].path, err) < 0)
			return -1;
	}
	if (!is_base && add_urls(*requests, urls, url_count, err) < 0)
		return -1;
	return options->streamed ? check_streamed(*requests, err) : 0;
}

static int log_in_elsewhere(const struct sz_requests *setup, const struct sz_url *url,
			    struct sz_err *err)
{
	char there[272], here[272];
	sz_err_set(err, SZ_USAGE, 0, "--setup asks %s, and the load %s",
		   sz_url_host_header(&setup->origins[0].url, there),
		   sz_url_host_header(url, here));
	return sz_err_hint(err, "write a path alone: POST /login");
}

/* The log-in, at the service that is loaded. */
static int build_setup(const struct sz_cli_request *options, const struct sz_url *url,
		       struct sz_requests **setup, struct sz_err *err)
{
	char base[300], host[272];
	snprintf(base, sizeof(base), "%s://%s", url->tls ? "https" : "http",
		 sz_url_host_header(url, host));
	const struct sz_requests_config config = {
		.base = base,
		.is_http10 = options->http == SZ_HTTP_1_0,
	};
	if (sz_requests_new(&config, setup, err) < 0 ||
	    sz_requests_read_file(*setup, sz_requests_read_message, options->setup, err) < 0)
		return sz_err_wrap(err, "--setup");
	const struct sz_url *there = &(*setup)->origins[0].url;
	if (there->tls != url->tls || there->port != url->port ||
	    strcmp(there->host, url->host) != 0)
		return log_in_elsewhere(*setup, url, err);
	tell_exposed(*setup);
	return 0;
}

static int check_files(const struct sz_cli_request *options, size_t url_count, struct sz_err *err)
{
	if (!!options->list + !!options->har + !!options->log > 1) {
		sz_err_set(err, SZ_USAGE, 0, "--list, --har and --log exclude each other");
		return sz_err_hint(err, "load them one after the other");
	}
	if (options->streamed && options->http == SZ_HTTP_1_0) {
		sz_err_set(err, SZ_USAGE, 0, "--streamed: HTTP/1.0 has no chunks");
		return sz_err_hint(err, "leave one of --streamed and --http 1.0 out");
	}
	if (reads_file(options) && url_count > 1) {
		sz_err_set(err, SZ_USAGE, 0,
			   "with --list, --har or --log there is at most one URL");
		return sz_err_hint(err, "give the service's, without a path: "
					"http://127.0.0.1:8000");
	}
	return 0;
}

static int check_origins(const struct sz_requests *requests, struct sz_err *err)
{
	char first[272], second[272];
	if (requests->origin_count == 1)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "the requests go to several services, as %s and %s",
		   sz_url_host_header(&requests->origins[0].url, first),
		   sz_url_host_header(&requests->origins[1].url, second));
	return sz_err_hint(err, "load one service at a time");
}

static int make_tls(const struct sz_cli_request *options, enum sz_tls_offer offer,
		    struct sz_tls **tls, struct sz_err *err)
{
	const struct sz_tls_config config = {
		.ca_file = options->ca,
		.cert_file = options->cert,
		.key_file = options->key,
		.offer = offer,
		.no_verify = options->insecure,
		.no_resume = options->full_handshakes,
	};
	*tls = sz_tls_new(&config, err);
	return *tls ? 0 : -1;
}

static int make_tls_pair(const struct sz_cli_request *options, struct sz_cli_asked *asked,
			 struct sz_err *err)
{
	enum sz_tls_offer offer = options->http == SZ_HTTP_2 ? SZ_OFFER_H2 : SZ_OFFER_HTTP1;
	return make_tls(options, offer, &asked->tls, err) < 0
		       ? -1
		       : make_tls(options, SZ_OFFER_HTTP1, &asked->ready_tls, err);
}

/* What would have no effect, by name. */
static int check_effect(const struct sz_cli_request *options, const struct sz_url *url,
			struct sz_err *err)
{
	const struct {
		const char *name, *of;
		bool is_given, has_effect;
	} rows[] = {
		{"--cacert", "https", options->ca != NULL, url->tls},
		{"--cert", "https", options->cert != NULL, url->tls},
		{"--key", "https", options->key != NULL, url->tls},
		{"--insecure", "https", options->insecure, url->tls},
		{"--full-handshakes", "https", options->full_handshakes, url->tls},
		{"--keep-secrets", "--har", options->keep_secrets, options->har != NULL},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(rows); i++) {
		if (!rows[i].is_given || rows[i].has_effect)
			continue;
		sz_err_set(err, SZ_USAGE, 0, "%s has no effect without %s", rows[i].name,
			   rows[i].of);
		return sz_err_hint(err, "leave it out");
	}
	return 0;
}

static int find_addresses(const struct sz_origin *origin, struct sz_addrs *addrs,
			  struct sz_err *err)
{
	*addrs = (struct sz_addrs){.count = 1};
	if (origin->unix_path)
		return sz_addr_unix(origin->unix_path, &addrs->list[0], err);
	if (sz_url_resolve_all(&origin->url, addrs, err) < 0)
		return -1;
	if (addrs->left_out)
		fprintf(stderr, "sizeup: %s has %zu addresses; the first %d are used\n",
			origin->url.host, addrs->count + addrs->left_out, SZ_ADDRS_MAX);
	return 0;
}

static int check_sources(const struct sz_cli_request *options, const struct sz_addrs *addrs,
			 struct sz_err *err)
{
	size_t i = 0;
	while (i < addrs->count && addrs->list[i].storage.ss_family == AF_INET &&
	       sz_addr_is_loopback(&addrs->list[i]))
		i++;
	if (options->sources == 1 || i == addrs->count)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "--sources is for a service at 127.0.0.x alone");
	return sz_err_hint(err, "name it by that address, as http://127.0.0.1:8000/");
}

int sz_cli_ask(const struct sz_cli_request *options, char *const *urls, size_t url_count,
	       struct sz_cli_asked *asked, struct sz_load_config *config, struct sz_err *err)
{
	if (check_files(options, url_count, err) < 0 ||
	    build(options, urls, url_count, &asked->requests, err) < 0 ||
	    check_origins(asked->requests, err) < 0)
		return -1;
	const struct sz_origin *origin = &asked->requests->origins[0];
	if (check_effect(options, &origin->url, err) < 0 ||
	    find_addresses(origin, &asked->addrs, err) < 0 ||
	    sz_cli_check_target(&origin->url, &asked->addrs, options->owned, err) < 0 ||
	    check_sources(options, &asked->addrs, err) < 0 ||
	    (origin->url.tls && make_tls_pair(options, asked, err) < 0) ||
	    (options->setup && build_setup(options, &origin->url, &asked->setup, err) < 0))
		return -1;
	config->url = origin->url;
	config->addr = asked->addrs.list[0];
	config->addrs = &asked->addrs;
	config->http = (enum sz_http)options->http;
	config->streams = (unsigned)options->streams;
	config->sources = options->sources == 1 ? 0 : (unsigned)options->sources;
	config->requests = asked->requests;
	config->setup = asked->setup;
	config->tls = asked->tls;
	tell_left_out(asked->requests);
	return 0;
}

void sz_cli_fill_page(const struct sz_cli_request *options, unsigned *connections,
		      struct sz_load_config *config)
{
	if (!options->har)
		return;
	config->calls = (unsigned)config->requests->count;
	if (!*connections)
		*connections = config->requests->concurrency;
}

int sz_cli_no_users(uint64_t users, struct sz_err *err)
{
	if (users == 1)
		return 0;
	sz_err_set(err, SZ_USAGE, 0,
		   "--users is about bursts, and there is neither --burst nor "
		   "--har");
	return sz_err_hint(err, "give --burst K for K requests of each user at once, or --clients "
				"for a loop");
}

int sz_cli_fill_users(uint64_t connections, uint64_t users, struct sz_load_config *config,
		      struct sz_err *err)
{
	if (connections * users > SZ_LOAD_CLIENTS_MAX) {
		sz_err_set(err, SZ_USAGE, 0, "%llu users with %llu connections each are too many",
			   (unsigned long long)users, (unsigned long long)connections);
		return sz_err_hint(err, "ask for at most %d connections", SZ_LOAD_CLIENTS_MAX);
	}
	config->users = (unsigned)users;
	config->clients = (unsigned)(connections * users);
	return 0;
}

void sz_cli_asked_fini(struct sz_cli_asked *asked)
{
	sz_requests_free(asked->requests);
	sz_requests_free(asked->setup);
	sz_tls_free(asked->tls);
	sz_tls_free(asked->ready_tls);
}
