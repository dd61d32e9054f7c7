/* SPDX-License-Identifier: Apache-2.0
 *
 * A real server: what nginx logged is what was counted.
 */
#include "script.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "net/get.h"

#define BODY_BYTES 612

static struct sz_load_config config;
static struct sz_load_result result;
static char dir[] = "/tmp/sizeup-nginx-XXXXXX";
static pid_t nginx_pid = -1;

static const char nginx_conf[] =
	"daemon off;\nmaster_process off;\npid nginx.pid;\n"
	"error_log error.log;\n"
	"events { worker_connections 256; }\n"
	"http {\n"
	"  access_log access.log;\n"
	"  client_body_temp_path tmp; proxy_temp_path tmp;\n"
	"  fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;\n"
	"  keepalive_requests 25;\n"
	"  server { listen 127.0.0.1:%u; root .; }\n"
	"}\n";

static FILE *in_dir(const char *name, const char *mode)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, mode);
	assert_non_null(file);
	return file;
}

static int start(void **state)
{
	(void)state;
	uint16_t port = sz_free_port(NULL);
	assert_non_null(mkdtemp(dir));
	FILE *conf = in_dir("nginx.conf", "w");
	fprintf(conf, nginx_conf, port);
	fclose(conf);
	FILE *body = in_dir("index.html", "w");
	for (int i = 0; i < BODY_BYTES; i++)
		fputc('x', body);
	fclose(body);
	chmod(dir, 0755);
	script_config(&config, port, 10);
	nginx_pid = fork();
	if (nginx_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/usr/sbin/nginx", "nginx", "-p", dir, "-c", "nginx.conf", "-e", "error.log",
		      (char *)NULL);
		_exit(127);
	}
	return nginx_pid < 0;
}

static int stop(void **state)
{
	(void)state;
	kill(nginx_pid, SIGKILL);
	waitpid(nginx_pid, NULL, 0);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* One answered request. */
static void wait_until_ready(void)
{
	struct sz_err err = {0};
	int status = 0;
	for (int i = 0; i < 200 && status != 200; i++) {
		if (sz_get(&config.url, &config.addr, NULL, sz_now_ns() + SZ_NS_PER_S, &status,
			   &err) < 0)
			script_sleep_ms(10);
	}
	if (status != 200)
		fail_msg("nginx does not come up: %s", err.message);
}

static uint64_t lines_logged(void)
{
	uint64_t lines = 0;
	FILE *log = in_dir("access.log", "r");
	for (int byte = fgetc(log); byte != EOF; byte = fgetc(log))
		lines += byte == '\n';
	fclose(log);
	return lines;
}

static void log_agrees(void **state)
{
	(void)state;
	wait_until_ready();
	script_load(&config, 1000, 5000, &result);
	assert_true(result.sent >= 1000);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.body_bytes, BODY_BYTES * result.sent);
	assert_int_equal(result.error_count, 0);
	assert_int_equal(result.connections_opened, 10 + result.reconnects);
	/* nginx says Connection: close in every 25th response. */
	assert_true(result.reconnects >= 1000 / 25 - 10);
	assert_int_equal(result.server_closed, result.reconnects);
	/* It logs a request after the client has its response. */
	uint64_t requests = 1 + result.sent + result.uncounted;
	for (int i = 0; i < 200 && lines_logged() < requests; i++)
		script_sleep_ms(5);
	assert_int_equal(lines_logged(), requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(log_agrees, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
