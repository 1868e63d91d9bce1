// The lateness that the kernel causes for one thread that waits for one deadline after another: by
// a futex with the smallest timer slack, and by a timerfd that epoll waits for.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static struct timespec time_of(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
}

int measure_lateness_futex(int count, const int64_t *deadlines, int64_t *lateness) {
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    uint32_t word = 0;
    for (int index = 0; index < count; index++) {
        struct timespec deadline = time_of(deadlines[index]);
        while (now() < deadlines[index])
            syscall(
                SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &deadline, NULL,
                FUTEX_BITSET_MATCH_ANY);
        lateness[index] = now() - deadlines[index];
    }
    return 0;
}

int measure_lateness_timerfd(int count, const int64_t *deadlines, int64_t *lateness) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    if (timer < 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0)
        return -errno;
    for (int index = 0; index < count; index++) {
        struct itimerspec setting = {.it_value = time_of(deadlines[index])};
        while (now() < deadlines[index]) {
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
            epoll_wait(epoll, &event, 1, -1);
        }
        lateness[index] = now() - deadlines[index];
    }
    close(timer);
    close(epoll);
    return 0;
}
