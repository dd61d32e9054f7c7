/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client has of its log-in: cookies, and its requests with them.
 *
 * The log-in is a client's first request, in a stage of its own; any that does not
 * go well ends the load. The cookies are the client's, whatever becomes of its
 * connections. Heads are written once and shared by all clients, so one with
 * cookies sends a copy: a head of HTTP/1 is put together anew for each request,
 * one of HTTP/2 gets another field.
 */
#include "load/inside.h"

#include <stdlib.h>
#include <string.h>

#include "load/requests-inside.h"

static const char first_cookie[] = "\r\nCookie: ";
static const char next_cookie[] = "; ";

int sz_sessions_init(struct sz_load *load, struct sz_err *err)
{
	const struct sz_requests *requests = load->requests;
	if (!load->config.setup)
		return 0;
	load->sessions = calloc(load->config.clients, sizeof(load->sessions[0]));
	if (!load->sessions)
		return sz_err_nomem(err);
	for (unsigned i = 0; i < load->config.clients; i++)
		load->clients[i].session = &load->sessions[i];
	for (size_t i = 0; i < requests->count; i++) {
		if (requests->items[i].joined_bytes > load->longest_joined_bytes)
			load->longest_joined_bytes = requests->items[i].joined_bytes;
	}
	return 0;
}

void sz_sessions_free(struct sz_load *load)
{
	for (unsigned i = 0; load->sessions && i < load->config.clients; i++) {
		free(load->sessions[i].reply);
		free(load->sessions[i].cookies);
		free(load->sessions[i].head);
	}
	free(load->sessions);
}

bool sz_session_ask(struct sz_client *client)
{
	struct sz_session *session = client->session;
	if (!session->reply)
		session->reply = calloc(1, sizeof(*session->reply));
	if (session->reply)
		return true;
	sz_err_nomem(&client->load->failure);
	sz_load_fail(client->load);
	return false;
}

/* The answer */

/* Without its query, which may hold what is nobody's business. */
static void name_setup(const struct sz_load *load, struct sz_err *err)
{
	const char *label = load->config.setup->items[0].label;
	size_t len = strcspn(label, "?");
	sz_err_wrap(err, "--setup: %.*s", (int)(len < 100 ? len : 100), label);
}

static int refused(const struct sz_load *load, const struct sz_reply *reply, int status,
		   struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	sz_err_set(err, status < 500 ? SZ_USAGE : SZ_MACHINE, 0,
		   "a client's log-in was answered with %d: \"%s\"", status,
		   sz_input_quote(reply->body, reply->body_bytes, quote));
	if (status >= 500)
		sz_err_hint(err, "look into the service's log");
	else
		sz_err_hint(err, "correct its line, headers or body: a form needs 'Content-Type: "
				 "application/x-www-form-urlencoded', JSON 'Content-Type: "
				 "application/json'");
	name_setup(load, err);
	return -1;
}

static int keep_cookies(struct sz_client *client, struct sz_err *err)
{
	struct sz_load *load = client->load;
	struct sz_session *session = client->session;
	const struct sz_reply *reply = session->reply;
	if (reply->why) {
		sz_err_set(err, SZ_MACHINE, 0, "the service sets %s", reply->why);
		sz_err_hint(err, "let the log-in set fewer or shorter ones, or ask another path");
		name_setup(load, err);
		return -1;
	}
	if (reply->cookie_count == 0)
		return 0;
	load->cookies += reply->cookie_count;
	session->cookies = strdup(reply->cookies);
	session->head =
		malloc(load->longest_joined_bytes + sizeof(first_cookie) + reply->cookies_bytes);
	return session->cookies && session->head ? 0 : sz_err_nomem(err);
}

bool sz_session_take(struct sz_client *client, int status)
{
	struct sz_load *load = client->load;
	struct sz_session *session = client->session;
	bool is_good = sz_statuses_has(client->request->expected, status);
	int rc = is_good ? keep_cookies(client, &load->failure)
			 : refused(load, session->reply, status, &load->failure);
	free(session->reply);
	session->reply = NULL;
	if (rc < 0)
		sz_load_fail(load);
	return rc == 0;
}

void sz_session_fail(struct sz_load *load)
{
	name_setup(load, &load->failure);
	sz_load_fail(load);
}

/* Requests */

static char *put(char *at, const char *bytes, size_t len)
{
	return (char *)mempcpy(at, bytes, len);
}

void sz_session_write(struct sz_client *client)
{
	struct sz_session *session = client->session;
	const struct sz_request *request = client->request;
	session->wire = *request;
	if (!session->cookies)
		return;
	size_t before = request->cookie_at;
	const char *lead = request->has_cookie ? next_cookie : first_cookie;
	char *at = put(session->head, request->head, before);
	at = put(at, lead, strlen(lead));
	at = put(at, session->cookies, strlen(session->cookies));
	size_t more = (size_t)(at - session->head) - before;
	put(at, request->head + before, request->joined_bytes - before);
	session->wire.head = session->head;
	session->wire.head_bytes += more;
	session->wire.joined_bytes += more;
}
