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

void sz_play_say(struct sz_play *play, const char *bytes, size_t len)
{
	add(play, (struct sz_step){.kind = SZ_STEP_SAY, .value = len, .from = play->bytes.len});
	sz_buf_append(&play->bytes, bytes, len);
}

void sz_play_text(struct sz_play *play, const char *text)
{
	sz_play_say(play, text, strlen(text));
}

void sz_play_repeat(struct sz_play *play, size_t from, uint64_t times)
{
	add(play, (struct sz_step){.kind = SZ_STEP_REPEAT, .value = times, .from = from});
}
