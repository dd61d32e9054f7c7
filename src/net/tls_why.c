/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_inside.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define NAMES_MAX 5 /* of a certificate's names, as many as a reader wants to see */

/* `code` is OpenSSL's X509_V_ERR_ or SSL_R_. */
struct cause {
	long code;
	int errnum;
	enum sz_code cure;
	const char *what;
	const char *hint;
};

#define ISSUER                                                                                     \
	ENOKEY, SZ_USAGE, "the certificate's issuer is not trusted",                               \
		"give the issuer's certificate with --cacert FILE"
#define MISMATCH                                                                                   \
	EKEYREJECTED, SZ_USAGE, "the name does not match: the certificate is for",                 \
		"write a name that the certificate holds, or let the service use one for this "    \
		"name"

static const struct cause certificate_causes[] = {
	{X509_V_ERR_CERT_HAS_EXPIRED, EKEYEXPIRED, SZ_MACHINE, "the certificate has expired, on",
	 "renew it; or is the clock of this machine wrong?"},
	{X509_V_ERR_CERT_NOT_YET_VALID, EKEYREJECTED, SZ_MACHINE,
	 "the certificate is not valid yet", "is the clock of this machine wrong?"},
	{X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, ENOKEY, SZ_USAGE, "the certificate is self-signed",
	 "give it with --cacert FILE, if it is the right one"},
	{X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, ISSUER},
	{X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, ISSUER},
	{X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, ISSUER},
	{X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, ISSUER},
	{X509_V_ERR_HOSTNAME_MISMATCH, MISMATCH},
	{X509_V_ERR_IP_ADDRESS_MISMATCH, MISMATCH},
};

#define NO_TLS                                                                                     \
	EPROTONOSUPPORT, SZ_USAGE, "the peer does not speak TLS",                                  \
		"write http:// instead of https://, or name the port where TLS is"
#define TOO_OLD                                                                                    \
	EPROTONOSUPPORT, SZ_MACHINE, "the peer speaks only TLS older than 1.2",                    \
		"let the service speak TLS 1.2 or 1.3"
#define OWN_CERTIFICATE                                                                            \
	EACCES, SZ_USAGE, "the peer does not accept our certificate, or that we give none",        \
		"give one that it trusts with --cert FILE and --key FILE"

static const struct cause protocol_causes[] = {
	{SSL_R_WRONG_VERSION_NUMBER, NO_TLS},
	{SSL_R_UNSUPPORTED_PROTOCOL, TOO_OLD},
	{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, TOO_OLD},
	{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, OWN_CERTIFICATE},
	{SSL_R_TLSV1_ALERT_UNKNOWN_CA, OWN_CERTIFICATE},
	{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, OWN_CERTIFICATE},
	{SSL_R_TLSV1_UNRECOGNIZED_NAME, EPROTO, SZ_USAGE, "the peer serves no host of this name",
	 "write the name that the service is configured for"},
	{SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, EPROTONOSUPPORT, SZ_MACHINE,
	 "the peer speaks no HTTP version that was offered",
	 "leave --http 2 out, or switch HTTP/2 on in the service"},
	{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, EPROTO, SZ_MACHINE,
	 "the peer found no cipher or parameters in common", "see the log of the service"},
};

static const struct cause *find_cause(const struct cause *causes, size_t count, long code)
{
	for (size_t i = 0; i < count; i++) {
		if (causes[i].code == code)
			return &causes[i];
	}
	return NULL;
}

/* Details of a certificate. It is a stranger's, and this goes to a terminal. */

static void add_printable(struct sz_buf *text, const ASN1_STRING *string)
{
	const unsigned char *bytes = ASN1_STRING_get0_data(string);
	for (int i = 0; i < ASN1_STRING_length(string); i++)
		sz_buf_append(text, isprint(bytes[i]) ? (const char *)&bytes[i] : "?", 1);
}

static void add_address(struct sz_buf *text, const ASN1_OCTET_STRING *address)
{
	char printed[INET6_ADDRSTRLEN] = "?";
	inet_ntop(ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6,
		  ASN1_STRING_get0_data(address), printed, sizeof(printed));
	sz_buf_puts(text, printed);
}

static bool is_ip_name(const GENERAL_NAME *name)
{
	if (name->type != GEN_IPADD)
		return false;
	int len = ASN1_STRING_length(name->d.iPAddress);
	return len == 4 || len == 16;
}

static int add_alternative_names(struct sz_buf *text, const X509 *certificate)
{
	int listed = 0;
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		if (name->type != GEN_DNS && !is_ip_name(name))
			continue;
		if (listed++ == NAMES_MAX) {
			sz_buf_puts(text, " …");
			break;
		}
		sz_buf_puts(text, listed > 1 ? ", " : "");
		if (name->type == GEN_DNS)
			add_printable(text, name->d.dNSName);
		else
			add_address(text, name->d.iPAddress);
	}
	GENERAL_NAMES_free(names);
	return listed;
}

/* RFC 6125, 6.4.4: the common name counts only when there is no other. */
static void add_names(struct sz_buf *text, const X509 *certificate)
{
	if (add_alternative_names(text, certificate) > 0)
		return;
	const X509_NAME *subject = X509_get_subject_name(certificate);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
	if (at < 0)
		sz_buf_puts(text, "no host at all");
	else
		add_printable(text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

static void add_end(struct sz_buf *text, const X509 *certificate)
{
	struct tm end;
	char date[32] = "an unreadable date";
	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end))
		strftime(date, sizeof(date), "%Y-%m-%d", &end);
	sz_buf_puts(text, date);
}

static struct sz_buf *detail_of(X509_STORE_CTX *checked)
{
	const SSL *ssl = X509_STORE_CTX_get_ex_data(checked, SSL_get_ex_data_X509_STORE_CTX_idx());
	const struct sz_stream *stream = SSL_get_app_data(ssl);
	return &stream->origin->detail;
}

int sz_tls_on_verify(int ok, X509_STORE_CTX *checked)
{
	static const struct {
		int error;
		void (*add)(struct sz_buf *text, const X509 *certificate);
	} details[] = {
		{X509_V_ERR_HOSTNAME_MISMATCH, add_names},
		{X509_V_ERR_IP_ADDRESS_MISMATCH, add_names},
		{X509_V_ERR_CERT_HAS_EXPIRED, add_end},
	};
	struct sz_buf *text = detail_of(checked);
	sz_buf_fini(text);
	for (size_t i = 0; i < SZ_ARRAY_LEN(details); i++) {
		if (!ok && details[i].error == X509_STORE_CTX_get_error(checked))
			details[i].add(text, X509_STORE_CTX_get_current_cert(checked));
	}
	return ok;
}

/* Words */

static int explain_cause(const struct cause *cause, const struct sz_tls_origin *origin,
			 const char *detail, struct sz_err *err)
{
	sz_err_set(err, cause->cure, 0, "no TLS with %s: %s%s%.200s", origin->host, cause->what,
		   *detail ? " " : "", detail);
	sz_err_hint(err, "%s", cause->hint);
	return cause->errnum;
}

static int explain_certificate(const struct sz_stream *stream, struct sz_err *err)
{
	long result = SSL_get_verify_result(stream->ssl);
	const struct cause *cause =
		find_cause(certificate_causes, SZ_ARRAY_LEN(certificate_causes), result);
	const struct cause other = {result, EKEYREJECTED, SZ_MACHINE,
				    "the certificate is not acceptable:",
				    "give the service a certificate without this fault"};
	if (cause)
		return explain_cause(cause, stream->origin, sz_buf_text(&stream->origin->detail),
				     err);
	return explain_cause(&other, stream->origin, X509_verify_cert_error_string(result), err);
}

/* The connection below failed. */
static int explain_break(const struct sz_stream *stream, int errnum, struct sz_err *err)
{
	bool closed = errnum == ECONNABORTED;
	sz_err_set(err, SZ_MACHINE, closed ? 0 : errnum, "no TLS with %s: %s in the handshake",
		   stream->origin->host,
		   closed ? "the peer closed the connection" : "the connection broke");
	sz_err_hint(err, "see the log of the service; is this the port where TLS is?");
	return errnum;
}

int sz_tls_explain(const struct sz_stream *stream, int errnum, int reason, struct sz_err *err)
{
	const struct cause other = {reason, EPROTO, SZ_MACHINE,
				    "the handshake failed:", "see the log of the service"};
	const struct cause *cause =
		find_cause(protocol_causes, SZ_ARRAY_LEN(protocol_causes), reason);
	if (errnum != EPROTO)
		return explain_break(stream, errnum, err);
	if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		return explain_certificate(stream, err);
	if (cause)
		return explain_cause(cause, stream->origin, "", err);
	return explain_cause(&other, stream->origin,
			     stream->why ? stream->why : "OpenSSL does not say why", err);
}
