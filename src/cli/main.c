/* SPDX-License-Identifier: Apache-2.0
 *
 * sizeup: how many workers does this service need? Measured, never guessed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/quote.h"
#include "cli/cli.h"

static const struct sz_cli_command *const commands[] = {
	&sz_cmd_demo, &sz_cmd_sweep, &sz_cmd_load, &sz_cmd_merge, &sz_cmd_serve,
};

static const char welcome[] =
	"sizeup tells how many workers an HTTP service needs, by measuring it.\n"
	"\n"
	"See it work on the built-in server, in less than a minute:\n"
	"  sizeup demo\n"
	"\n"
	"Size your own service ({workers} and {port} are filled in; uvicorn is an example):\n"
	"  sizeup sweep --workers 1,2,4 --url / -- uvicorn --workers {workers} --port {port} "
	"app:app\n"
	"\n"
	"Load something that already runs:\n"
	"  sizeup load --clients 50 --duration 10s http://127.0.0.1:8000/\n"
	"\n"
	"All commands: sizeup --help\n";

static const char *const first_examples[] = {"sizeup demo", "sizeup sweep --help"};

static const char exit_codes[] =
	"\nExit status: 0 answered, 1 the answer is no, 2 the command line is wrong,\n"
	"3 the service or the machine failed, 4 the measurement is not trustworthy,\n"
	"130 interrupted.\n";

static const char *command_name_at(const void *list, size_t i)
{
	(void)list;
	return i < SZ_ARRAY_LEN(commands) ? commands[i]->spec.name : NULL;
}

static void list_commands(struct sz_buf *out)
{
	sz_buf_puts(out, "Usage: sizeup COMMAND [options]\n\nCommands:\n");
	for (size_t i = 0; i < SZ_ARRAY_LEN(commands); i++)
		sz_buf_printf(out, "  %-8s %s\n", commands[i]->spec.name,
			      commands[i]->spec.summary);
	sz_buf_puts(out,
		    "\nOptions:\n  --help     this text; sizeup COMMAND --help for one command\n"
		    "  --version  the version\n\nExamples:\n  sizeup demo\n  sizeup sweep "
		    "--help\n");
	for (size_t i = 0; i < SZ_ARRAY_LEN(first_examples); i++) {
		sz_buf_puts(out, "  ");
		sz_opt_example(first_examples[i], sz_cli_program, out);
		sz_buf_puts(out, "\n");
	}
	sz_buf_puts(out, exit_codes);
}

/* Lines that begin with two spaces are commands to paste. */
static int print_text(const char *text, struct sz_err *err)
{
	sz_autobuf struct sz_buf view = {0};
	while (*text) {
		size_t len = strcspn(text, "\n") + 1;
		char line[200];
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		sz_opt_example(line, line[0] == ' ' ? sz_cli_program : "sizeup", &view);
		text += len;
	}
	return sz_cli_print(&view, err);
}

static int unknown(const char *word, struct sz_err *err)
{
	const char *nearest = sz_nearest(word, command_name_at, NULL);
	char quote[SZ_URL_QUOTE];
	sz_err_set(err, SZ_USAGE, 0, "there is no command or option '%.60s'",
		   sz_url_quote(word, quote));
	if (nearest)
		return sz_err_hint(err, "did you mean sizeup %s?", nearest);
	return sz_err_hint(err, "see sizeup --help");
}

static int dispatch(char **argv, struct sz_err *err)
{
	if (!argv[0])
		return print_text(welcome, err);
	if (strcmp(argv[0], "--version") == 0)
		return print_text("sizeup " SIZEUP_VERSION "\n", err);
	if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
		sz_autobuf struct sz_buf view = {0};
		list_commands(&view);
		return sz_cli_print(&view, err);
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(commands); i++) {
		if (strcmp(argv[0], commands[i]->spec.name) == 0)
			return commands[i]->run(&commands[i]->spec, argv + 1, err);
	}
	return unknown(argv[0], err);
}

/* Nothing of ours may become descriptor 0, 1 or 2: what is written to standard
 * error would land in it. What is written to one that was closed must fail, so
 * it can only be read. */
static void fill_standard_descriptors(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	fill_standard_descriptors();
	struct sz_err err = {0};
	/* Found through PATH, its own name is enough. */
	if (argc > 0 && strchr(argv[0], '/'))
		sz_cli_program = argv[0];
	int status = dispatch(argc > 0 ? argv + 1 : argv, &err);
	if (status >= 0)
		return status;
	fprintf(stderr, "sizeup: %s\n", err.message);
	if (err.hint[0])
		fprintf(stderr, "  try: %s\n", err.hint);
	return err.code;
}
