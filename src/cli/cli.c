/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>

const char *sz_cli_program = "sizeup";

int sz_cli_print(const struct sz_buf *view, struct sz_err *err)
{
	if (view->failed)
		return sz_err_nomem(err);
	fwrite(view->data, 1, view->len, stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return sz_err_set(err, SZ_MACHINE, errno, "cannot write the result to standard output");
}

int sz_cli_parse(const struct sz_command *spec, char **argv, void *options,
		 struct sz_parsed *parsed, struct sz_err *err)
{
	sz_autobuf struct sz_buf help = {0};
	if (sz_opt_parse(spec, argv, options, parsed, err) < 0)
		return -1;
	if (!parsed->help)
		return 0;
	sz_opt_help(spec, sz_cli_program, &help);
	return sz_cli_print(&help, err) < 0 ? -1 : 1;
}

int sz_cli_check_target(const struct sz_url *url, const struct sz_addrs *addrs, bool owned,
			struct sz_err *err)
{
	char text[64];
	size_t i = 0;
	while (i < addrs->count && sz_addr_is_loopback(&addrs->list[i]))
		i++;
	if (owned || i == addrs->count)
		return 0;
	sz_err_set(err, SZ_USAGE, 0,
		   "%s (%s) is not this machine's loopback: load could hurt somebody "
		   "else's service",
		   url->host, sz_addr_text(&addrs->list[i], text));
	return sz_err_hint(err, "if the service is yours to load, add --i-own-this-target");
}

int sz_cli_fill_expected(const char *text, struct sz_load_config *config, struct sz_err *err)
{
	if (!text || sz_match_init(&config->expected, text, err) == 0)
		return 0;
	return sz_err_wrap(err, "--expect-body");
}

int sz_cli_load_exit(const struct sz_load_report *report)
{
	if (report->result->interrupted)
		return SZ_INTERRUPTED;
	if (sz_load_has_failed(report->result))
		return SZ_MACHINE;
	return report->judgement->count ? SZ_UNTRUSTED : SZ_OK;
}

int sz_cli_sweep_exit(const struct sz_sweep *sweep)
{
	static const int codes[] = {
		[SZ_STATUS_ANSWERED] = SZ_OK,
		[SZ_STATUS_NO] = SZ_NO,
		[SZ_STATUS_UNTRUSTWORTHY] = SZ_UNTRUSTED,
		[SZ_STATUS_INTERRUPTED] = SZ_INTERRUPTED,
		[SZ_STATUS_FAILED] = SZ_MACHINE,
	};
	return codes[sweep->advice.status];
}
