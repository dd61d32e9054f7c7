/* SPDX-License-Identifier: Apache-2.0
 *
 * Downstreams: a captured machine, and live services that call one another
 * over TCP and unix sockets.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/downstream.h"

static void captured(void **state)
{
	(void)state;
	char root[200];
	struct sz_os os;
	struct sz_tree tree = {0};
	struct sz_downstreams found;
	snprintf(root, sizeof(root), "%s/os/downstream", getenv("SIZEUP_TEST_DATA"));
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	assert_int_equal(sz_tree_read(&os, 40, &tree), 0);
	assert_int_equal(sz_downstreams_read(&os, &tree, 8000, &found), 0);

	/* Not the client of port 8000, not the scraper of port 9100, not the
	 * shell above, not another machine; two connections in other states. */
	static const struct sz_downstream want[] = {
		{60, 5060, "postgres", 5432, 3, 0}, /* one connection seen as IPv6 */
		{65, 5065, "redis-server", 6379, 1, 0},
		{81, 5081, "api: master", 7001, 1, 0}, /* by its executable, up to its group */
	};
	assert_int_equal(found.count, SZ_ARRAY_LEN(want));
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(found.list[i].pid, want[i].pid);
		assert_int_equal(found.list[i].start_ticks, want[i].start_ticks);
		assert_string_equal(found.list[i].comm, want[i].comm);
		assert_int_equal(found.list[i].remote_port, want[i].remote_port);
		assert_int_equal(found.list[i].connections, want[i].connections);
	}
	assert_string_equal(found.unseen, "unix sockets; who holds the other end of 1 connection");
	/* Postmaster 25 ticks, four backends 10 each; one and two of the others. */
	assert_int_equal(found.list[0].cpu_ns, 650 * SZ_NS_PER_MS);
	assert_int_equal(sz_downstreams_cpu_ns(&os, &found), 950 * SZ_NS_PER_MS);

	tree.count = 0;
	assert_int_equal(sz_downstreams_read(&os, &tree, 8000, &found), -ESRCH);
	assert_int_equal(found.count, 3);
	sz_tree_fini(&tree);
}

/* ---- live ---- */

/* A database: a top process and a backend that accepts and burns on order. */
struct database {
	pid_t pid;
	int orders; /* written: one byte each */
	int said;   /* read: one answer each, and one when all have connected */
	struct sockaddr_storage address;
	socklen_t address_len;
};

#define CONNECTIONS 3
#define BURN_NS (60 * SZ_NS_PER_MS)

static void serve(int listener, int orders, int said)
{
	char order;
	if (write(said, "", 1) != 1)
		_exit(1);
	for (int i = 0; i < CONNECTIONS; i++)
		if (accept(listener, NULL, NULL) < 0)
			_exit(1);
	while (write(said, "", 1) == 1 && read(orders, &order, 1) == 1)
		for (uint64_t end_ns = sz_process_cpu_ns() + BURN_NS; sz_process_cpu_ns() < end_ns;)
			;
	_exit(0);
}

static void await_answer(const struct database *db)
{
	char byte;
	assert_int_equal(read(db->said, &byte, 1), 1);
}

/* Its processes are those of uid, unless 0, when this returns. */
static struct database start_database(sa_family_t family, uid_t uid)
{
	struct database db = {.address_len = sizeof(db.address)};
	struct sockaddr_in loopback = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int orders[2], said[2], listener = socket(family, SOCK_STREAM, 0);
	assert_true(listener >= 0);
	if (family == AF_INET)
		assert_int_equal(bind(listener, (struct sockaddr *)&loopback, sizeof(loopback)), 0);
	else
		assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&db.address, &db.address_len), 0);
	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(said), 0);
	db.pid = fork();
	assert_true(db.pid >= 0);
	if (!db.pid) {
		if (uid && setresuid(uid, uid, uid) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(listener, orders[0], said[1]);
		}
		close(listener);
		for (;;)
			pause();
	}
	close(orders[0]);
	close(said[1]);
	close(listener);
	db.orders = orders[1];
	db.said = said[0];
	await_answer(&db);
	return db;
}

static uint16_t port_of(const struct database *db)
{
	return ntohs(((const struct sockaddr_in *)&db->address)->sin_port);
}

/* A service that keeps its connections to the database; made by uid. */
static pid_t start_service(const struct database *db, uid_t uid)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid) {
		await_answer(db);
		return pid;
	}
	if (uid && (setresuid(uid, uid, uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user forgets it */
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(db->address.ss_family, SOCK_STREAM, 0);
		if (connect(fd, (const struct sockaddr *)&db->address, db->address_len) < 0)
			_exit(1);
	}
	for (;;)
		pause();
}

static void stop_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void stop_database(const struct database *db)
{
	char byte;
	stop_process(db->pid);
	while (read(db->said, &byte, 1) > 0) /* until the backend has ended too */
		;
	close(db->orders);
	close(db->said);
}

static int look(pid_t pid, uint16_t port, struct sz_downstreams *found)
{
	struct sz_os os;
	struct sz_tree tree = {0};
	int rc = sz_os_init(&os, NULL, NULL);
	if (!rc)
		rc = sz_tree_read(&os, pid, &tree);
	if (!rc)
		rc = sz_downstreams_read(&os, &tree, port, found);
	sz_tree_fini(&tree);
	return rc;
}

static void assert_only(const struct sz_downstreams *found, const struct database *db,
			uint16_t port)
{
	assert_string_equal(found->unseen, "");
	assert_int_equal(found->count, 1);
	assert_int_equal(found->list[0].pid, db->pid);
	assert_int_equal(found->list[0].remote_port, port);
	assert_int_equal(found->list[0].connections, CONNECTIONS);
}

static void over_tcp(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_downstreams found, none;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	struct database db = start_database(AF_INET, 0);
	pid_t service = start_service(&db, 0);
	assert_int_equal(look(service, 1, &found), 0);
	if (strstr(found.unseen, "unix")) /* a kernel without unix_diag */
		found.unseen[0] = '\0';
	assert_only(&found, &db, port_of(&db));

	/* The database did not make these connections. */
	assert_int_equal(look(db.pid, port_of(&db), &none), 0);
	assert_int_equal(none.count, 0);

	uint64_t before_ns = sz_downstreams_cpu_ns(&os, &found);
	assert_int_equal(write(db.orders, "", 1), 1);
	await_answer(&db);
	uint64_t after_ns = sz_downstreams_cpu_ns(&os, &found);
	assert_in_range(after_ns - before_ns, BURN_NS, 2 * BURN_NS);

	/* Ended: what it used stays. */
	stop_database(&db);
	assert_int_equal(sz_downstreams_cpu_ns(&os, &found), after_ns);
	stop_process(service);
}

static void over_unix(void **state)
{
	(void)state;
	struct sz_downstreams found;
	struct database db = start_database(AF_UNIX, 0);
	pid_t service = start_service(&db, 0);
	assert_int_equal(look(service, 1, &found), 0);
	if (!strstr(found.unseen, "unix")) {
		assert_only(&found, &db, 0);
		assert_int_equal(look(db.pid, 1, &found), 0);
		assert_int_equal(found.count, 0);
	}
	stop_database(&db);
	stop_process(service);
}

/* sizeup is at the other end of a socket pair, as it is of its guard. */
static void not_sizeup(void **state)
{
	(void)state;
	struct sz_downstreams found;
	int pair[2];
	char byte;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid_t pid = fork();
	if (!pid) {
		close(pair[0]);
		_exit(read(pair[1], &byte, 1) == 0 ? 0 : 1);
	}
	close(pair[1]);
	assert_int_equal(look(pid, 1, &found), 0);
	assert_int_equal(found.count, 0);
	close(pair[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Seen by a user who may not read the database's descriptors: it is all that
 * its user runs. Run as that of the service. */
enum { SERVICE_UID = 61237, DATABASE_UID = 61238 };

static bool deduces(pid_t service, const struct database *db)
{
	struct sz_downstreams found;
	return setresuid(SERVICE_UID, SERVICE_UID, SERVICE_UID) == 0 &&
	       look(service, 1, &found) == 0 && found.count == 1 && found.list[0].pid == db->pid &&
	       found.list[0].connections == CONNECTIONS && found.unseen[0] == '\0';
}

static bool does_not_guess(pid_t service)
{
	struct sz_downstreams found;
	return setresuid(SERVICE_UID, SERVICE_UID, SERVICE_UID) == 0 &&
	       look(service, 1, &found) == 0 && found.count == 0 &&
	       strstr(found.unseen, "3 connections: other users' descriptors need root");
}

static void hidden_owner(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	struct database db = start_database(AF_INET, DATABASE_UID);
	pid_t service = start_service(&db, SERVICE_UID);
	int status = 1;
	pid_t pid = fork();
	if (!pid)
		_exit(deduces(service, &db) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);

	/* A second service of the same user. */
	struct database other = start_database(AF_INET, DATABASE_UID);
	pid = fork();
	if (!pid)
		_exit(does_not_guess(service) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	stop_database(&other);
	stop_database(&db);
	stop_process(service);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured),     cmocka_unit_test(over_tcp),
		cmocka_unit_test(over_unix),    cmocka_unit_test(not_sizeup),
		cmocka_unit_test(hidden_owner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
