/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a command: its options as JSON, its run in the store.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"

/* --- options as understood --- */

static json_t *texts_json(char *const *texts)
{
	json_t *list = json_array();
	for (; texts && *texts; texts++) {
		if (json_array_append_new(list, json_string(*texts)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *settings_json(const struct sz_settings *settings)
{
	json_t *list = json_array();
	for (size_t i = 0; i < settings->count; i++)
		json_array_append_new(list, json_integer(settings->value[i]));
	return list;
}

static json_t *count_json(const struct sz_opt *opt, uint64_t count)
{
	return opt->word && count == 0 ? json_string(opt->word) : json_integer((json_int_t)count);
}

static json_t *value_json(const struct sz_opt *opt, const void *value)
{
	switch (opt->type) {
	case SZ_OPT_FLAG:
		return json_boolean(*(const bool *)value);
	case SZ_OPT_TEXT: {
		const char *text = *(const char *const *)value;
		return text ? json_string(text) : json_null();
	}
	case SZ_OPT_TEXTS:
		return texts_json(((const struct sz_texts *)value)->item);
	case SZ_OPT_COUNT:
		return count_json(opt, *(const uint64_t *)value);
	case SZ_OPT_DURATION:
		/* As people read it, and exact. */
		return json_sprintf("%.12g s", sz_ns_to_s(*(const uint64_t *)value));
	case SZ_OPT_SETTINGS:
		return settings_json(value);
	case SZ_OPT_CHOICE:
		return json_string(opt->choices[*(const int *)value]);
	default:
		return NULL;
	}
}

/* Options on which the measurement does not depend: with more time a run goes on
 * to where it would have come. What a file of options says
 * is in the options themselves. */
static bool is_beside_the_point(const struct sz_opt *opt)
{
	static const char *const names[] = {"json", "db",     "no-record",     "resume",
					    "file", "budget", "budget-windows"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++) {
		if (strcmp(opt->name, names[i]) == 0)
			return true;
	}
	return false;
}

/* A service that is not our child has a command as well: what changes it. */
static json_t *command_json(const struct sz_sweep_config *config)
{
	return config->argv ? texts_json(config->argv) : json_pack("[s]", config->attached.apply);
}

/* NULL when a text is not UTF-8, or memory is out. The directory belongs to it:
 * the same command means another service elsewhere. */
static char *options_text(const struct sz_command *spec, const void *options,
			  const struct sz_sweep_config *config)
{
	json_t *object = json_object();
	sz_autofree char *directory = getcwd(NULL, 0);
	int status = json_object_set_new(object, "command", command_json(config));
	if (directory)
		status |= json_object_set_new(object, "directory", json_string(directory));
	const struct sz_opt *opt;
	for (size_t i = 0; (opt = sz_opt_at(spec, i)); i++) {
		if (!is_beside_the_point(opt))
			status |= json_object_set_new(object, opt->name,
						      value_json(opt, (const char *)options +
									      opt->offset));
	}
	char *text = status == 0 ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	return text;
}

/* --- the run --- */

static void warn(const char *what, const struct sz_err *err)
{
	fprintf(stderr, "sizeup: warning: %s: %s\n", what, err->message);
	if (err->hint[0])
		fprintf(stderr, "  try: %s\n", err->hint);
}

static int enter_run(bool resume, const char *options, struct sz_store *store,
		     struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	int64_t run_id = 0;
	int status = resume ? sz_store_resume(store, options, &run_id, sweep, err)
			    : sz_store_begin(store, sweep, options, &run_id, err);
	if (status < 0)
		return -1;
	config->store = store;
	config->run_id = run_id;
	fprintf(stderr, "Record: run %lld in %s", (long long)run_id, sz_store_path(store));
	if (resume)
		fprintf(stderr, ", resumed after %zu window%s", sweep->visit_count,
			sweep->visit_count == 1 ? "" : "s");
	fputs("\n", stderr);
	return 0;
}

static int open_record(const struct sz_record_options *record, const char *options,
		       struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	struct sz_store *store;
	if (!options)
		return sz_err_set(err, SZ_USAGE, 0, "the command line is not UTF-8");
	if (sz_store_open(record->db, &store, err) < 0)
		return -1;
	int status = enter_run(record->resume, options, store, config, sweep, err);
	if (status < 0)
		sz_store_close(store);
	return status;
}

int sz_cli_record_begin(const struct sz_record_options *record, const struct sz_command *spec,
			const void *options, struct sz_sweep_config *config, struct sz_sweep *sweep,
			struct sz_err *err)
{
	sz_autofree char *text = options_text(spec, options, config);
	if (record->no_record && record->resume)
		return sz_err_set(err, SZ_USAGE, 0, "--resume needs the record");
	if (record->no_record || open_record(record, text, config, sweep, err) == 0)
		return 0;
	if (record->resume)
		return -1;
	warn("this run is not recorded", err);
	return 0;
}

void sz_cli_record_end(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
		       int status)
{
	struct sz_err err = {0};
	const char *name = status < 0 ? "failed" : sz_status_name(sweep->advice.status);
	/* A record with a gap stays open: resumed, it is filled. */
	if (config->store && !sweep->unrecorded[0] &&
	    sz_store_finish(config->store, config->run_id, name, &err) < 0)
		warn("the record has no end", &err);
	sz_store_close(config->store);
}
