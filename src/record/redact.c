/* SPDX-License-Identifier: Apache-2.0 */
#include "record/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define HIDDEN "***"

static const char *const secret_names[] = {"PASS",       "SECRET",        "TOKEN", "KEY",
					   "CREDENTIAL", "AUTHORIZATION", "COOKIE"};

static size_t name_length(const char *text)
{
	size_t len = 0;
	while (isalnum((unsigned char)text[len]) || (text[len] && strchr("_-.", text[len])))
		len++;
	return len;
}

static bool is_secret(const char *name, size_t len)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(secret_names); i++) {
		size_t wanted = strlen(secret_names[i]);
		for (size_t at = 0; at + wanted <= len; at++) {
			if (strncasecmp(name + at, secret_names[i], wanted) == 0)
				return true;
		}
	}
	return false;
}

/* What stands between a name and its value: "=", ": " or, in JSON, "\": ". 0: it
 * is no such name. */
static size_t separator_length(const char *text)
{
	size_t len = *text == '"';
	if (text[len] == '=' && len == 0)
		return 1;
	if (text[len] != ':' || strncmp(text + len, "://", 3) == 0)
		return 0;
	len++;
	return len + strspn(text + len, " ");
}

/* Length of a value inside a text: quotes and backslashes as in a shell. */
static size_t value_length(const char *text)
{
	const char *at = text;
	while (*at && !strchr(" \t\n&;|)", *at)) {
		char quote = *at;
		if (quote == '\\' && at[1])
			at++;
		else if (quote == '"' || quote == '\'')
			at += strcspn(at + 1, quote == '"' ? "\"" : "'") + 1;
		at += *at != '\0';
	}
	return (size_t)(at - text);
}

/* What stands before the @ of an authority (RFC 3986, 3.2); 0: nothing. */
static size_t userinfo_length(const char *authority)
{
	const char *at = memrchr(authority, '@', strcspn(authority, "/?# \t\n\"'"));
	return at ? (size_t)(at - authority) : 0;
}

/* Copy up to `len` bytes of text, then hide `secret` bytes; how many those are. */
static size_t hide(const char *text, size_t len, size_t secret, struct sz_buf *out)
{
	sz_buf_append(out, text, len);
	if (secret)
		sz_buf_puts(out, HIDDEN);
	return len + secret;
}

void sz_redact(const char *word, struct sz_buf *out)
{
	const char *at = word;
	sz_buf_puts(out, ""); /* an empty word is a text, too */
	while (*at) {
		size_t name = name_length(at);
		size_t separator = name ? separator_length(at + name) : 0;
		if (strncmp(at, "://", 3) == 0)
			at += hide(at, 3, userinfo_length(at + 3), out);
		else if (separator && is_secret(at, name))
			at += hide(at, name + separator,
				   at == word ? strlen(at + name + separator)
					      : value_length(at + name + separator),
				   out);
		else
			at += hide(at, name ? name : 1, 0, out);
	}
}

static json_t *redact_text(const char *text)
{
	sz_autobuf struct sz_buf redacted = {0};
	sz_redact(text, &redacted);
	return redacted.failed ? NULL : json_string(sz_buf_text(&redacted));
}

/* --password, whose value is the next word. */
static bool announces_secret(const json_t *word)
{
	const char *text = json_string_value(word);
	return text && text[0] == '-' && !strchr(text, '=') && is_secret(text, strlen(text));
}

static json_t *redact_list(json_t *list)
{
	json_t *redacted = json_array();
	bool hidden = false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *word = json_array_get(list, i);
		json_t *copy = hidden ? json_string(HIDDEN) : sz_redact_json(word);
		hidden = !hidden && announces_secret(word);
		if (json_array_append_new(redacted, copy) < 0) {
			json_decref(redacted);
			return NULL;
		}
	}
	return redacted;
}

static json_t *redact_object(json_t *object)
{
	json_t *redacted = json_object(), *value;
	const char *name;
	json_object_foreach(object, name, value)
	{
		if (json_object_set_new(redacted, name, sz_redact_json(value)) < 0) {
			json_decref(redacted);
			return NULL;
		}
	}
	return redacted;
}

json_t *sz_redact_json(json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return redact_text(json_string_value(value));
	case JSON_ARRAY:
		return redact_list(value);
	case JSON_OBJECT:
		return redact_object(value);
	default:
		return json_deep_copy(value);
	}
}
