/* SPDX-License-Identifier: Apache-2.0
 *
 * Why nobody serves there: the messages of sz_load_open().
 */
#include "load/inside.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/units.h"

static const char instead_of_http2[] =
	"leave --http 2 out, or switch HTTP/2 on in the service: it may know HTTP/1.1 alone";

/* With prior knowledge a service that knows HTTP/1 alone may say anything, or nothing. */
static bool is_unsure_of_http2(const struct sz_load *load)
{
	return load->config.http == SZ_HTTP_2 && !load->speaks_http2;
}

int sz_load_no_answer_error(const struct sz_load *load, struct sz_err *err)
{
	char addr[64];
	char timeout[SZ_UNIT_TEXT];
	if (load->last_errnum && load->last_errnum != ETIMEDOUT) {
		sz_err_set(err, SZ_MACHINE, load->last_errnum,
			   "no request of the load was answered by %s; the last one failed in "
			   "phase %s",
			   sz_addr_text(&load->route.addr, addr), sz_phase_name(load->last_phase));
		return sz_err_hint(err, "look into the service's log");
	}
	sz_err_set(err, SZ_MACHINE, ETIMEDOUT, "no request was answered within %s by %s",
		   sz_format_duration(timeout, (double)load->config.timeout_ns),
		   sz_addr_text(&load->route.addr, addr));
	return sz_err_hint(err, "%s",
			   is_unsure_of_http2(load)
				   ? instead_of_http2
				   : "look into the service's log, or allow more time per request");
}

static int status_of(const struct sz_load *load, const struct sz_client *client)
{
	return load->config.http == SZ_HTTP_2 ? client->via.http2.status
					      : client->via.http1.response.status;
}

/* It was answered at once, and the answer does not end. */
static int no_end_error(const struct sz_load *load, int status, struct sz_err *err)
{
	char addr[64], timeout[SZ_UNIT_TEXT];
	sz_err_set(err, SZ_MACHINE, ETIMEDOUT,
		   "%s answered with status %d, and the body did not end within %s",
		   sz_addr_text(&load->route.addr, addr), status,
		   sz_format_duration(timeout, (double)load->config.timeout_ns));
	return sz_err_hint(err, "%s",
			   sz_load_is_streams(load)
				   ? "look into the service's log: that status is no stream's"
				   : "allow more time per request; --hold is for responses that "
				     "stay open");
}

void sz_load_quote_received(const struct sz_load *load, char text[SZ_LOAD_SAMPLE_TEXT])
{
	char *at = text;
	*at = '\0';
	for (size_t i = 0; i < load->received && i < SZ_LOAD_SAMPLE_BYTES; i++) {
		unsigned char byte = (unsigned char)load->buffer[i];
		bool is_plain = isprint(byte) && byte != '\\' && byte != '"';
		at += snprintf(at, 5, is_plain ? "%c" : "\\x%02x", byte);
	}
}

/* Of what came in place of a good answer. */
static const char *hint_of(enum sz_outcome outcome)
{
	static const char *const hints[SZ_OUTCOME_COUNT] = {
		[SZ_OUTCOME_NOT_HTTP] = "check scheme and port of the URL: another protocol is "
					"spoken there",
		[SZ_OUTCOME_TRUNCATED] = "look into the service's log: it closed the connection in "
					 "the middle of a response",
	};
	return hints[outcome] ? hints[outcome]
			      : "look into the service's log, or at what stands in front of it: "
				"such a response is a fault of theirs";
}

static int not_http_error(const struct sz_load *load, const struct sz_loss *loss,
			  struct sz_err *err)
{
	char addr[64];
	char sample[SZ_LOAD_SAMPLE_TEXT];
	sz_load_quote_received(load, sample);
	sz_err_set(err, SZ_MACHINE, EPROTO, "%s does not answer in valid %s (%s)%s%s%s",
		   sz_addr_text(&load->route.addr, addr),
		   load->config.http == SZ_HTTP_2 ? "HTTP/2" : "HTTP/1", loss->why,
		   *sample ? "; it sent \"" : "", sample, *sample ? "\"" : "");
	return sz_err_hint(err, "%s",
			   is_unsure_of_http2(load) ? instead_of_http2 : hint_of(loss->outcome));
}

static int socket_error(const struct sz_load *load, int errnum, struct sz_err *err)
{
	char addr[64];
	sz_err_set(err, SZ_MACHINE, errnum, "%s took the first request and did not answer it",
		   sz_addr_text(&load->route.addr, addr));
	return sz_err_hint(err, "%s",
			   is_unsure_of_http2(load) ? instead_of_http2
						    : "look into the service's log");
}

static bool is_decisive(const struct sz_load *load, const struct sz_client *client)
{
	bool is_first = !load->ever_answered && client == &load->clients[0];
	return is_first || load->stage == SZ_STAGE_SETUP;
}

static void end(struct sz_load *load)
{
	if (load->stage == SZ_STAGE_SETUP)
		sz_session_fail(load);
	else
		sz_load_fail(load);
}

/* The connection came about, and its handshake did not end. */
static int no_handshake_error(const struct sz_load *load, int errnum, struct sz_err *err)
{
	char addr[64], timeout[SZ_UNIT_TEXT];
	sz_err_set(err, SZ_MACHINE, errnum,
		   "%s took the connection, and the TLS handshake was not over within %s",
		   sz_addr_text(&load->route.addr, addr),
		   sz_format_duration(timeout, (double)load->config.timeout_ns));
	return sz_err_hint(err,
			   "check that TLS is spoken on that port, and look into the service's "
			   "log");
}

/* Of several addresses the last one that was tried, when there is no other left. */
static void explain(struct sz_load *load, int errnum)
{
	sz_stream_explain(&load->route, errnum, &load->failure);
	if (load->address_count > 1 && sz_address_is_last(load))
		sz_err_wrap(&load->failure, "none of the %zu addresses of %.200s takes connections",
			    load->address_count, load->config.url.host);
}

void sz_load_note_unconnected(struct sz_load *load, const struct sz_client *client,
			      enum sz_phase phase, int errnum, const struct sz_err *why)
{
	load->last_phase = phase;
	load->last_errnum = errnum;
	/* Out of descriptors is our fault, not the service's. */
	bool is_ours = errnum == EMFILE || errnum == ENFILE;
	if (!is_ours && !is_decisive(load, client))
		return;
	if (why)
		load->failure = *why;
	else if (phase == SZ_PHASE_TLS)
		no_handshake_error(load, errnum, &load->failure);
	else
		explain(load, errnum);
	end(load);
}

void sz_load_note_lost(struct sz_load *load, const struct sz_client *client,
		       const struct sz_loss *loss)
{
	load->route.addr = client->conn->address->addr;
	load->last_phase = loss->phase;
	load->last_errnum = loss->errnum;
	if (!is_decisive(load, client))
		return;
	if (loss->why)
		not_http_error(load, loss, &load->failure);
	else if (loss->errnum == ETIMEDOUT && loss->phase == SZ_PHASE_BODY)
		no_end_error(load, status_of(load, client), &load->failure);
	else if (loss->errnum == ETIMEDOUT)
		sz_load_no_answer_error(load, &load->failure);
	else
		socket_error(load, loss->errnum, &load->failure);
	end(load);
}
