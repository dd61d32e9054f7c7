/* SPDX-License-Identifier: Apache-2.0
 *
 * Templates of the command and the environment: {name} becomes its value.
 *
 * JSON, shell and awk live in command lines too. So only braces directly
 * around [a-z_]+ are a template, and only "{{name}}" as a whole is an escape:
 * the "}}" that ends {"a":{"b":1}} stays what it is.
 */
#include "target/target.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* The text falls into pieces: plain text, or a name to replace. */
struct piece {
	bool is_name;
	const char *text; /* of a name: without the braces */
	size_t len;
	const char *next; /* where the following piece starts */
};

/* Length of the name when text starts with "{name}", else 0. */
static size_t braced_name_len(const char *text)
{
	if (text[0] != '{')
		return 0;
	size_t len = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
	return text[1 + len] == '}' ? len : 0;
}

static struct piece plain_piece(const char *text, size_t len)
{
	return (struct piece){.text = text, .len = len, .next = text + len};
}

static struct piece next_piece(const char *text)
{
	if (text[0] == '$' && text[1] == '{')
		return plain_piece(text, 2);
	size_t len = braced_name_len(text);
	if (len > 0)
		return (struct piece){true, text + 1, len, text + len + 2};
	if (text[0] == '{' && (len = braced_name_len(text + 1)) > 0 && text[len + 3] == '}')
		return (struct piece){false, text + 1, len + 2, text + len + 4};
	return plain_piece(text, 1 + strcspn(text + 1, "${"));
}

static bool piece_is(const struct piece *piece, const char *name)
{
	return piece->is_name && strlen(name) == piece->len &&
	       memcmp(name, piece->text, piece->len) == 0;
}

static const struct sz_binding *find_binding(const struct piece *piece,
					     const struct sz_binding *bindings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (piece_is(piece, bindings[i].name))
			return &bindings[i];
	}
	return NULL;
}

static int unknown_name(const struct piece *piece, const struct sz_binding *bindings, size_t count,
			struct sz_err *err)
{
	sz_autobuf struct sz_buf known = {0};
	for (size_t i = 0; i < count; i++)
		sz_buf_printf(&known, "%s{%s}", i ? ", " : "", bindings[i].name);
	int len = piece->len < 64 ? (int)piece->len : 64;
	sz_err_set(err, SZ_USAGE, 0, "no value is known for {%.*s}; known: %s", len, piece->text,
		   count ? sz_buf_text(&known) : "none");
	return sz_err_hint(err, "to pass the text itself on, write {{%.*s}}", len, piece->text);
}

int sz_template_expand(const char *text, const struct sz_binding *bindings, size_t binding_count,
		       char **out, struct sz_err *err)
{
	sz_autobuf struct sz_buf expanded = {0};
	sz_buf_puts(&expanded, "");
	while (*text) {
		struct piece piece = next_piece(text);
		if (piece.is_name) {
			const struct sz_binding *found =
				find_binding(&piece, bindings, binding_count);
			if (!found)
				return unknown_name(&piece, bindings, binding_count, err);
			sz_buf_puts(&expanded, found->value);
		} else {
			sz_buf_append(&expanded, piece.text, piece.len);
		}
		text = piece.next;
	}
	if (expanded.failed)
		return sz_err_nomem(err);
	*out = sz_steal(expanded.data);
	return 0;
}

bool sz_template_uses(const char *text, const char *name)
{
	while (*text) {
		struct piece piece = next_piece(text);
		if (piece_is(&piece, name))
			return true;
		text = piece.next;
	}
	return false;
}
