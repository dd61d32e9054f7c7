/* SPDX-License-Identifier: Apache-2.0 */
#include "net/events.h"

static void end_line(struct sz_events *events)
{
	if (!events->in_line) {
		events->count += events->in_block;
		events->in_block = false;
	} else {
		events->in_block = true;
	}
	events->in_line = false;
}

void sz_events_feed(struct sz_events *events, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool is_second = bytes[i] == '\n' && events->after_cr;
		events->after_cr = bytes[i] == '\r';
		if (is_second)
			continue;
		if (bytes[i] == '\n' || bytes[i] == '\r')
			end_line(events);
		else
			events->in_line = true;
	}
}
