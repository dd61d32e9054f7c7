/* SPDX-License-Identifier: Apache-2.0 */
#include "base/optfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "base/mem.h"

#define HOW_TO_WRITE                                                                               \
	"write lines like workers: 1,2,4 without tabs, and quotes around a text that holds "       \
	"{ } [ ] , # or a colon"

/* libyaml hands out one event at a time, so whatever is refused is refused
 * before anything behind it is read: nesting costs no stack. */
struct reader {
	yaml_parser_t *yaml;
	yaml_event_t *event; /* the one looked at */
	const char *text;
	size_t len;
	struct sz_optfile *file;
	struct sz_err *err;
};

static struct sz_mark mark_of(yaml_mark_t mark)
{
	return (struct sz_mark){mark.line + 1, mark.column + 1};
}

/* --- what libyaml says --- */

/* Of bytes that could not be decoded libyaml knows the offset alone. */
static struct sz_mark mark_of_offset(const struct reader *reader, size_t offset)
{
	struct sz_mark at = {1, 1};
	for (size_t i = 0; i < offset && i < reader->len; i++) {
		bool is_continuation = ((unsigned char)reader->text[i] & 0xC0) == 0x80;
		at.column += !is_continuation;
		if (reader->text[i] == '\n')
			at = (struct sz_mark){at.line + 1, 1};
	}
	return at;
}

static int not_yaml(const struct reader *reader)
{
	const yaml_parser_t *yaml = reader->yaml;
	if (yaml->error == YAML_MEMORY_ERROR)
		return sz_err_nomem(reader->err);
	sz_err_set(reader->err, SZ_USAGE, 0, "this is not YAML: %s", yaml->problem);
	if (yaml->error == YAML_READER_ERROR) {
		sz_err_hint(reader->err, "save it as plain text in UTF-8");
		return sz_optfile_blame(reader->file, mark_of_offset(reader, yaml->problem_offset),
					reader->err);
	}
	sz_err_hint(reader->err, HOW_TO_WRITE);
	return sz_optfile_blame(reader->file, mark_of(yaml->problem_mark), reader->err);
}

/* --- what is not taken --- */

/* An error about the event looked at. */
static int refuse(const struct reader *reader, const char *what, const char *hint)
{
	sz_err_set(reader->err, SZ_USAGE, 0, "%s", what);
	sz_err_hint(reader->err, "%s", hint);
	return sz_optfile_blame(reader->file, mark_of(reader->event->start_mark), reader->err);
}

/* What the event has beside its content. */
static void properties_of(const yaml_event_t *event, const yaml_char_t **anchor,
			  const yaml_char_t **tag)
{
	*anchor = *tag = NULL;
	if (event->type == YAML_SCALAR_EVENT) {
		*anchor = event->data.scalar.anchor;
		*tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		*anchor = event->data.sequence_start.anchor;
		*tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		*anchor = event->data.mapping_start.anchor;
		*tag = event->data.mapping_start.tag;
	}
}

/* Look at the next event. */
static int advance(struct reader *reader)
{
	const yaml_char_t *anchor, *tag;
	yaml_event_delete(reader->event);
	if (!yaml_parser_parse(reader->yaml, reader->event))
		return not_yaml(reader);
	properties_of(reader->event, &anchor, &tag);
	if (!anchor && !tag && reader->event->type != YAML_ALIAS_EVENT)
		return 0;
	return refuse(reader, "anchors (&), aliases (*) and tags (!) are not taken",
		      "write the value itself, in quotes when it begins with such a character");
}

/* --- pairs --- */

static void free_pair(struct sz_optfile_pair *pair)
{
	for (size_t i = 0; i < pair->count; i++)
		free(pair->value[i]);
	free(pair->value);
	free(pair->name);
}

/* A value that nobody wrote, or YAML's words for none. */
static bool is_null(const yaml_event_t *event)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};
	const char *text = (const char *)event->data.scalar.value;
	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < SZ_ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/* A copy of the text looked at. */
static int copy_text(const struct reader *reader, char **text)
{
	const yaml_event_t *event = reader->event;
	if (event->type != YAML_SCALAR_EVENT)
		return refuse(reader, "a list or a mapping stands where a text is wanted",
			      "put quotes around a text that begins with { or [, like "
			      "\"{workers}\"; a list holds texts alone, like [A=1, B=2]");
	const char *value = (const char *)event->data.scalar.value;
	if (is_null(event))
		return refuse(reader, "a value is missing here",
			      "leave out the whole entry, or write \"\" for an empty text");
	if (strlen(value) != event->data.scalar.length)
		return refuse(reader, "a text cannot hold NUL", "leave out the \\0");
	*text = strdup(value);
	return *text ? 0 : sz_err_nomem(reader->err);
}

static int add_value(const struct reader *reader, struct sz_optfile_pair *pair, size_t *cap)
{
	if (sz_grow(&pair->value, cap, pair->count + 2, sizeof(*pair->value)) < 0)
		return sz_err_nomem(reader->err);
	if (copy_text(reader, &pair->value[pair->count]) < 0)
		return -1;
	pair->value[++pair->count] = NULL;
	return 0;
}

static int read_list(struct reader *reader, struct sz_optfile_pair *pair, size_t *cap)
{
	while (advance(reader) == 0) {
		if (reader->event->type != YAML_SEQUENCE_END_EVENT) {
			if (add_value(reader, pair, cap) < 0)
				return -1;
		} else if (pair->count == 0) {
			return refuse(reader, "the list is empty", "leave out the whole entry");
		} else {
			return 0;
		}
	}
	return -1;
}

static int read_value(struct reader *reader, struct sz_optfile_pair *pair)
{
	size_t cap = 0;
	const yaml_event_t *event = reader->event;
	if (advance(reader) < 0)
		return -1;
	pair->value_at = mark_of(event->start_mark);
	pair->is_list = event->type == YAML_SEQUENCE_START_EVENT;
	if (pair->is_list)
		return read_list(reader, pair, &cap);
	pair->quoted = event->type == YAML_SCALAR_EVENT &&
		       event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	return add_value(reader, pair, &cap);
}

static int check_new(const struct reader *reader, const struct sz_optfile_pair *pair)
{
	const struct sz_optfile *file = reader->file;
	size_t i = 0;
	while (i < file->count && strcmp(file->pair[i].name, pair->name) != 0)
		i++;
	if (i == file->count)
		return 0;
	sz_err_set(reader->err, SZ_USAGE, 0, "'%.60s' stands here again, after line %zu",
		   pair->name, file->pair[i].name_at.line);
	sz_err_hint(reader->err, "keep one of the two");
	return sz_optfile_blame(file, pair->name_at, reader->err);
}

static int keep(const struct reader *reader, const struct sz_optfile_pair *pair)
{
	struct sz_optfile *file = reader->file;
	if (sz_grow(&file->pair, &file->cap, file->count + 1, sizeof(*file->pair)) < 0)
		return sz_err_nomem(reader->err);
	file->pair[file->count++] = *pair;
	return 0;
}

/* The name is the event looked at. */
static int read_pair(struct reader *reader)
{
	struct sz_optfile_pair pair = {.name_at = mark_of(reader->event->start_mark)};
	if (copy_text(reader, &pair.name) == 0 && check_new(reader, &pair) == 0 &&
	    read_value(reader, &pair) == 0 && keep(reader, &pair) == 0)
		return 0;
	free_pair(&pair);
	return -1;
}

/* --- the whole --- */

static int read_mapping(struct reader *reader)
{
	if (reader->event->type != YAML_MAPPING_START_EVENT)
		return refuse(reader, "the file must be a mapping from options to values",
			      HOW_TO_WRITE);
	while (advance(reader) == 0) {
		if (reader->event->type == YAML_MAPPING_END_EVENT)
			return reader->file->count
				       ? 0
				       : refuse(reader, "the mapping is empty", HOW_TO_WRITE);
		if (read_pair(reader) < 0)
			return -1;
	}
	return -1;
}

static int read_stream(struct reader *reader)
{
	if (advance(reader) < 0 || advance(reader) < 0)
		return -1;
	if (reader->event->type == YAML_STREAM_END_EVENT)
		return refuse(reader, "the file holds no options", HOW_TO_WRITE);
	/* The mapping, the end of its document, the end of the file. */
	if (advance(reader) < 0 || read_mapping(reader) < 0 || advance(reader) < 0 ||
	    advance(reader) < 0)
		return -1;
	if (reader->event->type != YAML_STREAM_END_EVENT)
		return refuse(reader, "a second document begins here",
			      "put each experiment into a file of its own");
	return 0;
}

/* Editors of another system put a byte order mark before UTF-8. libyaml, told
 * the encoding, takes it for an indentation. */
static void skip_byte_order_mark(struct reader *reader)
{
	static const char mark[] = {'\xEF', '\xBB', '\xBF'};
	if (reader->len < sizeof(mark) || memcmp(reader->text, mark, sizeof(mark)) != 0)
		return;
	reader->text += sizeof(mark);
	reader->len -= sizeof(mark);
}

int sz_optfile_parse(const char *path, const char *text, size_t len, struct sz_optfile *file,
		     struct sz_err *err)
{
	yaml_parser_t yaml;
	yaml_event_t event = {0};
	struct reader reader = {.yaml = &yaml,
				.event = &event,
				.text = text,
				.len = len,
				.file = file,
				.err = err};
	file->path = strdup(path);
	if (!file->path || !yaml_parser_initialize(&yaml)) {
		sz_optfile_fini(file);
		return sz_err_nomem(err);
	}
	skip_byte_order_mark(&reader);
	/* Told, not guessed: a file in UTF-16 is an error. */
	yaml_parser_set_encoding(&yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&yaml, (const unsigned char *)reader.text, reader.len);
	int status = read_stream(&reader);
	yaml_event_delete(&event);
	yaml_parser_delete(&yaml);
	if (status < 0)
		sz_optfile_fini(file);
	return status;
}

void sz_optfile_fini(struct sz_optfile *file)
{
	for (size_t i = 0; i < file->count; i++)
		free_pair(&file->pair[i]);
	free(file->pair);
	free(file->path);
	*file = (struct sz_optfile){0};
}

/* --- from the disk --- */

/* Bytes read, up to `most`, or -1 with errno. */
static ssize_t read_bytes(int fd, char *bytes, size_t most)
{
	size_t len = 0;
	while (len < most) {
		ssize_t n = read(fd, bytes + len, most - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return -1;
	}
	return (ssize_t)len;
}

static int cannot_read(const char *path, int errnum, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, errnum, "cannot read the file of options %.256s", path);
	return sz_err_hint(err, "give the path of a YAML file, from the current directory");
}

int sz_optfile_read(const char *path, struct sz_optfile *file, struct sz_err *err)
{
	struct stat st;
	/* O_NONBLOCK: a FIFO that nobody writes to would hold up the open. */
	sz_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot_read(path, errno, err);
	if (!S_ISREG(st.st_mode)) {
		sz_err_set(err, SZ_USAGE, 0, "%.256s is not a regular file", path);
		return sz_err_hint(err, "put the options into a YAML file");
	}
	sz_autofree char *text = malloc(SZ_OPTFILE_BYTES_MAX + 1);
	if (!text)
		return sz_err_nomem(err);
	ssize_t len = read_bytes(fd, text, SZ_OPTFILE_BYTES_MAX + 1);
	if (len < 0)
		return cannot_read(path, errno, err);
	if (len > SZ_OPTFILE_BYTES_MAX) {
		sz_err_set(err, SZ_USAGE, 0, "%.256s has more than %d KiB", path,
			   SZ_OPTFILE_BYTES_MAX / 1024);
		return sz_err_hint(err, "give a file that holds nothing but options");
	}
	return sz_optfile_parse(path, text, (size_t)len, file, err);
}
