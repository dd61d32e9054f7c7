/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void sz_play_fini(struct sz_play *play)
{
	free(play->steps);
	sz_buf_fini(&play->bytes);
	*play = (struct sz_play){0};
}

bool sz_play_failed(const struct sz_play *play)
{
	return play->failed || play->bytes.failed;
}

static void add(struct sz_play *play, struct sz_step step)
{
	if (sz_grow(&play->steps, &play->cap, play->count + 1, sizeof(play->steps[0])) < 0)
		play->failed = true;
	else
		play->steps[play->count++] = step;
}

void sz_play_step(struct sz_play *play, enum sz_step_kind kind, uint64_t value)
{
	add(play, (struct sz_step){.kind = kind, .value = value});
}

static bool is_saying(const struct sz_play *play)
{
	return play->count > play->mark && play->steps[play->count - 1].kind == SZ_STEP_SAY;
}

void sz_play_say(struct sz_play *play, const char *bytes, size_t len)
{
	if (is_saying(play))
		play->steps[play->count - 1].value += len;
	else
		add(play,
		    (struct sz_step){.kind = SZ_STEP_SAY, .value = len, .from = play->bytes.len});
	sz_buf_append(&play->bytes, bytes, len);
}

void sz_play_text(struct sz_play *play, const char *text)
{
	sz_play_say(play, text, strlen(text));
}

void sz_play_mark(struct sz_play *play)
{
	play->mark = play->count;
}

void sz_play_repeat(struct sz_play *play, uint64_t times)
{
	add(play, (struct sz_step){.kind = SZ_STEP_REPEAT, .value = times, .from = play->mark});
	play->mark = play->count;
}
