/* SPDX-License-Identifier: Apache-2.0
 *
 * Which service a sweep is about: its command or its hooks, its port, its URLs.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "net/listener.h"
#include "target/target.h"

/* --- templates --- */

static bool list_uses(char *const *texts, const char *name)
{
	for (; texts && *texts; texts++) {
		if (sz_template_uses(*texts, name))
			return true;
	}
	return false;
}

/* Whatever starts or changes the service uses {name}. */
static bool service_uses(const struct sz_sweep_config *config, const char *name)
{
	const char *apply = config->attached.apply;
	return list_uses(config->argv, name) || list_uses(config->env, name) ||
	       (apply && sz_template_uses(apply, name));
}

static int check_text(const char *text, size_t known_count, struct sz_err *err)
{
	static const struct sz_binding known[] = {{.name = "port"}, {.name = "workers"}};
	sz_autofree char *expanded = NULL;
	return text ? sz_template_expand(text, known, known_count, &expanded, err) : 0;
}

static int check_list(char *const *texts, struct sz_err *err)
{
	for (; texts && *texts; texts++) {
		if (check_text(*texts, 2, err) < 0)
			return -1;
	}
	return 0;
}

static int check_templates(const struct sz_sweep_config *config, struct sz_err *err)
{
	if (check_list(config->argv, err) < 0 || check_list(config->env, err) < 0 ||
	    check_text(config->reset, 2, err) < 0 || check_text(config->attached.apply, 2, err) < 0)
		return -1;
	/* There is no setting any more when it runs. */
	return check_text(config->attached.undo, 1, err) < 0 ? sz_err_wrap(err, "--undo") : 0;
}

/* --- what must be there --- */

static int check_parts(const struct sz_sweep_config *config, struct sz_err *err)
{
	bool attaches = config->attached.apply != NULL;
	if (!config->argv && !attaches) {
		sz_err_set(err, SZ_USAGE, 0, "there is no command to start");
		return sz_err_hint(err,
				   "put it after --: sizeup sweep --url / -- CMD {workers} {port}");
	}
	if (config->argv && attaches) {
		sz_err_set(err, SZ_USAGE, 0, "a command to start and --apply exclude each other");
		return sz_err_hint(err,
				   "give CMD for a service that sizeup starts, --apply for one "
				   "that already runs");
	}
	if (!attaches &&
	    (config->attached.undo || config->attached.pid_file || config->attached.cgroup)) {
		sz_err_set(err, SZ_USAGE, 0, "--undo, --pid-file and --cgroup go with --apply");
		return sz_err_hint(err, "see sizeup sweep --help");
	}
	if (config->attached.pid_file && config->attached.cgroup) {
		sz_err_set(err, SZ_USAGE, 0, "--pid-file and --cgroup exclude each other");
		return sz_err_hint(err, "give the one that is right after every change");
	}
	return 0;
}

static int check_environment(char *const *env, struct sz_err *err)
{
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		if (equals && equals != *env)
			continue;
		sz_err_set(err, SZ_USAGE, 0, "--env: '%.60s' is not NAME=VALUE", *env);
		return sz_err_hint(err, "write it like --env WEB_CONCURRENCY={workers}");
	}
	return 0;
}

static int check_knob(const struct sz_sweep_config *config, struct sz_err *err)
{
	if (config->workers.count < 2 || service_uses(config, "workers"))
		return 0;
	sz_err_set(err, SZ_USAGE, 0,
		   "the command does not use {workers}: every setting would be the same");
	if (config->attached.apply)
		return sz_err_hint(err, "put {workers} where the count goes in --apply");
	return sz_err_hint(err, "put {workers} where the count goes, in the command or in --env "
				"WEB_CONCURRENCY={workers}");
}

/* --- where it is --- */

static int choose_port(const struct sz_cli_service *service, const struct sz_sweep_config *config,
		       struct sz_url *url, struct sz_err *err)
{
	if (url->port && service->port && service->port != url->port) {
		sz_err_set(err, SZ_USAGE, 0, "--port %u and port %u of --url differ", service->port,
			   url->port);
		return sz_err_hint(err, "give one of them, or a path alone as --url");
	}
	if (url->port)
		return 0;
	if (!service->port && config->attached.apply) {
		sz_err_set(err, SZ_USAGE, 0, "nothing says on which port the service runs");
		return sz_err_hint(err, "give --port N, or a whole URL as --url");
	}
	if (!service->port && !service_uses(config, "port")) {
		sz_err_set(err, SZ_USAGE, 0, "nothing says which port the service listens on");
		return sz_err_hint(err, "put {port} into the command, or give --port N");
	}
	url->port = service->port ? service->port : sz_free_port(err);
	return url->port ? 0 : -1;
}

static int fill_ready(const struct sz_cli_service *service, struct sz_sweep_config *config,
		      struct sz_err *err)
{
	struct sz_url given;
	config->ready_url = config->load.url;
	if (!service->ready)
		return 0;
	if (sz_url_parse(service->ready, &given, err) < 0)
		return sz_err_wrap(err, "--ready");
	const struct sz_url *url = &config->load.url;
	if (given.host[0] && (given.tls != url->tls || given.port != url->port ||
			      strcmp(given.host, url->host) != 0)) {
		sz_err_set(err, SZ_USAGE, 0, "--ready must be on the service itself, %s port %u",
			   url->host, url->port);
		return sz_err_hint(err, "give a path, like --ready /health");
	}
	memcpy(config->ready_url.target, given.target, sizeof(given.target));
	return 0;
}

static int check_request(const struct sz_cli_request *request, struct sz_err *err)
{
	if (!request->unix_socket)
		return 0;
	sz_err_set(err, SZ_USAGE, 0,
		   "a sweep tells workers from each other by their port; a unix socket has none");
	return sz_err_hint(err, "let the service listen on 127.0.0.1:{port}; sizeup load takes "
				"--unix-socket");
}

/* Workers of one machine are behind each of its addresses. */
static void use_one_address(struct sz_sweep_config *config)
{
	char text[64];
	if (config->load.addrs->count > 1)
		fprintf(stderr, "sizeup: %s has %zu addresses; the sweep uses %s\n",
			config->load.url.host, config->load.addrs->count,
			sz_addr_text(&config->load.addr, text));
	config->load.addrs = NULL;
}

/* What is asked of the service, now that it has a host and a port. */
static int fill_requests(const struct sz_cli_service *service, struct sz_sweep_config *config,
			 struct sz_err *err)
{
	const struct sz_url url = config->load.url;
	const char *scheme = url.tls ? "https" : "http";
	char host[272];
	sz_autofree char *text = NULL;
	if (asprintf(&text, "%s://%s%s", scheme, sz_url_host_header(&url, host), url.target) < 0) {
		text = NULL;
		return sz_err_nomem(err);
	}
	if (sz_cli_ask(service->request, &text, 1, service->asked, &config->load, err) < 0)
		return -1;
	config->load.url = url;
	config->ready_tls = service->asked->ready_tls;
	use_one_address(config);
	return 0;
}

static int fill_urls(const struct sz_cli_service *service, struct sz_sweep_config *config,
		     struct sz_err *err)
{
	struct sz_url *url = &config->load.url;
	if (check_request(service->request, err) < 0)
		return -1;
	if (sz_url_parse(service->url, url, err) < 0)
		return sz_err_wrap(err, "--url");
	if (choose_port(service, config, url, err) < 0)
		return -1;
	if (!url->host[0])
		snprintf(url->host, sizeof(url->host), "127.0.0.1");
	if (fill_requests(service, config, err) < 0)
		return -1;
	return fill_ready(service, config, err);
}

int sz_cli_fill_service(const struct sz_cli_service *service, struct sz_sweep_config *config,
			struct sz_err *err)
{
	if (check_parts(config, err) < 0 || check_environment(config->env, err) < 0 ||
	    check_templates(config, err) < 0 || check_knob(config, err) < 0)
		return -1;
	return fill_urls(service, config, err);
}
