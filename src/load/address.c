/* SPDX-License-Identifier: Apache-2.0
 *
 * Several addresses of one service: connections lead to them in turn.
 */
#include "load/inside.h"

#include <errno.h>

void sz_addresses_init(struct sz_load *load)
{
	const struct sz_addrs *addrs = load->config.addrs;
	load->route.addr = load->addresses[0].addr = load->config.addr;
	load->route.source_count = load->config.sources;
	if (load->config.sources)
		load->route.source_next = load->config.turn % load->config.sources;
	load->address_count = 1;
	for (; addrs && load->address_count < addrs->count; load->address_count++)
		load->addresses[load->address_count].addr = addrs->list[load->address_count];
	load->next_address = load->config.turn % load->address_count;
}

void sz_address_choose(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	do {
		conn->address = &load->addresses[load->next_address];
		load->next_address = (load->next_address + 1) % load->address_count;
	} while (conn->address->left_out);
	load->route.addr = conn->address->addr;
}

bool sz_address_is_last(const struct sz_load *load)
{
	size_t left = 0;
	for (size_t i = 0; i < load->address_count; i++)
		left += !load->addresses[i].left_out;
	return left <= 1;
}

/* Out of descriptors, ports or memory is our fault, not the address's. */
static bool is_ours(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == EADDRNOTAVAIL;
}

bool sz_address_leave_out(struct sz_conn *conn, int errnum)
{
	struct sz_load *load = conn->load;
	struct sz_load_address *address = conn->address;
	address->failed++;
	if (address->left_out)
		return true;
	if (load->counting || address->opened || is_ours(errnum) || sz_address_is_last(load))
		return false;
	address->left_out = errnum;
	return true;
}
