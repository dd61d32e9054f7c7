/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/* Lock-free, so that a handler may set it, and any thread may look. */
static atomic_int stop_requested;
static int stop_fd = -1;

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void note_stop(int signal_number)
{
	(void)signal_number;
	int saved = errno;
	uint64_t one = 1;
	stop_requested = 1;
	/* An eventfd holds the request for every later poll. */
	if (write(stop_fd, &one, sizeof(one)) < 0)
		stop_requested = 1;
	errno = saved;
}

static void set_handlers(void (*handler)(int))
{
	/* Without SA_RESTART: blocking calls return EINTR and look at the request. */
	struct sigaction action = {.sa_handler = handler};
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SZ_ARRAY_LEN(stop_signals); i++) {
		struct sigaction inherited;
		sigaction(stop_signals[i], NULL, &inherited);
		/* nohup(1) and shells that start a job in the background mean it. */
		if (inherited.sa_handler != SIG_IGN)
			sigaction(stop_signals[i], &action, NULL);
	}
}

int sz_stop_init(struct sz_err *err)
{
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot make an eventfd");
	stop_requested = 0;
	set_handlers(note_stop);
	return 0;
}

void sz_stop_fini(void)
{
	set_handlers(SIG_DFL);
	if (stop_fd >= 0)
		close(stop_fd);
	stop_fd = -1;
	stop_requested = 0;
}

bool sz_stop_requested(void)
{
	return stop_requested != 0;
}

int sz_stop_fd(void)
{
	return stop_fd;
}

bool sz_stop_sleep(uint64_t ns)
{
	uint64_t until = sz_now_ns() + ns;
	while (!sz_stop_requested()) {
		uint64_t now = sz_now_ns();
		if (now >= until)
			return false;
		struct timespec left = sz_ns_timespec(until - now);
		struct pollfd wait = {.fd = stop_fd, .events = POLLIN};
		ppoll(&wait, 1, &left, NULL);
	}
	return true;
}
