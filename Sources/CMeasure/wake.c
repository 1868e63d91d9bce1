// The lowest cost of waking another thread: one futex, or one eventfd that epoll waits for; no
// queue, no closure.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { sleeping, woken, ended };

struct sleeper {
    _Atomic uint32_t word;
    _Atomic int64_t started;
    /// -1 for a thread that sleeps on the word itself.
    int event;
    int epoll;
};

static void *sleep_until_woken(void *argument) {
    struct sleeper *sleeper = argument;
    for (;;) {
        uint32_t word = atomic_load(&sleeper->word);
        if (word == ended) return NULL;
        if (word == woken) {
            atomic_store(&sleeper->started, now());
            atomic_compare_exchange_strong(&sleeper->word, &word, sleeping);
        } else if (sleeper->event >= 0) {
            struct epoll_event event;
            epoll_wait(sleeper->epoll, &event, 1, -1);
        } else {
            syscall(SYS_futex, &sleeper->word, FUTEX_WAIT_PRIVATE, sleeping, NULL, NULL, 0);
        }
    }
}

static void wake(struct sleeper *sleeper, uint32_t word) {
    atomic_store(&sleeper->word, word);
    if (sleeper->event < 0) {
        syscall(SYS_futex, &sleeper->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        return;
    }
    uint64_t one = 1;
    // It fails only when the counter is full, which wakes as well.
    if (write(sleeper->event, &one, sizeof one) < 0) return;
}

int measure_pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}

void measure_sleep(int64_t nanoseconds) {
    static _Thread_local int is_exact;
    if (!is_exact) is_exact = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {}
}

static int measure_wakes(
    struct sleeper *sleeper, int count, int64_t pause_nanoseconds, int64_t *calls,
    int64_t *latencies) {
    pthread_t thread;
    int result = pthread_create(&thread, NULL, sleep_until_woken, sleeper);
    if (result != 0) return -result;
    for (int index = 0; index < count; index++) {
        measure_sleep(pause_nanoseconds);
        atomic_store(&sleeper->started, 0);
        int64_t before = now();
        wake(sleeper, woken);
        calls[index] = now() - before;
        int64_t started;
        while ((started = atomic_load(&sleeper->started)) == 0) measure_sleep(1000);
        latencies[index] = started - before;
    }
    wake(sleeper, ended);
    pthread_join(thread, NULL);
    return 0;
}

int measure_futex_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies) {
    struct sleeper sleeper = {sleeping, 0, -1, -1};
    return measure_wakes(&sleeper, count, pause_nanoseconds, calls, latencies);
}

int measure_eventfd_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies) {
    struct sleeper sleeper = {
        sleeping, 0, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), epoll_create1(EPOLL_CLOEXEC)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    if (sleeper.event < 0 || sleeper.epoll < 0
        || epoll_ctl(sleeper.epoll, EPOLL_CTL_ADD, sleeper.event, &event) < 0) return -errno;
    int result = measure_wakes(&sleeper, count, pause_nanoseconds, calls, latencies);
    close(sleeper.event);
    close(sleeper.epoll);
    return result;
}
