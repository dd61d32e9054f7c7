/* SPDX-License-Identifier: Apache-2.0
 *
 * The command of a service and its environment, with their templates
 * replaced.
 */
#include "target/inside.h"

#include <string.h>

#include "base/mem.h"

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

static int expand_all(char *const *templates, const struct sz_binding *bindings,
		      size_t binding_count, char ***out, struct sz_err *err)
{
	size_t count = 0;
	while (templates && templates[count])
		count++;
	char **strings = calloc(count + 1, sizeof(*strings));
	if (!strings)
		return sz_err_nomem(err);
	for (size_t i = 0; i < count; i++) {
		if (sz_template_expand(templates[i], bindings, binding_count, &strings[i], err) <
		    0) {
			free_strings(strings);
			return -1;
		}
	}
	*out = strings;
	return 0;
}

static int check(const struct sz_command *command, struct sz_err *err)
{
	if (!command->argv[0]) {
		sz_err_set(err, SZ_USAGE, 0, "no command of the service was given");
		return sz_err_hint(err, "put it after --, like: -- ./server --port {port}");
	}
	for (size_t i = 0; command->env[i]; i++) {
		const char *equals = strchr(command->env[i], '=');
		if (equals && equals != command->env[i])
			continue;
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' does not set an environment variable",
			   command->env[i]);
		return sz_err_hint(err, "write it like NAME=VALUE");
	}
	return 0;
}

int sz_command_expand(const struct sz_target_config *config, const struct sz_binding *bindings,
		      size_t binding_count, struct sz_command *command, struct sz_err *err)
{
	struct sz_command expanded = {0};
	if (expand_all(config->argv, bindings, binding_count, &expanded.argv, err) < 0 ||
	    expand_all(config->env, bindings, binding_count, &expanded.env, err) < 0 ||
	    check(&expanded, err) < 0) {
		sz_command_fini(&expanded);
		return -1;
	}
	*command = expanded;
	return 0;
}

void sz_command_fini(struct sz_command *command)
{
	free_strings(command->argv);
	free_strings(command->env);
	*command = (struct sz_command){0};
}

void sz_command_text(const struct sz_command *command, struct sz_buf *text)
{
	for (size_t i = 0; command->argv[i]; i++) {
		const char *argument = command->argv[i];
		const char *quote =
			argument[0] && !strpbrk(argument, " \t\n\"$&;|<>*?()") ? "" : "'";
		sz_buf_printf(text, "%s%s%s%s", i ? " " : "", quote, argument, quote);
	}
}
