// The lateness of a due job that the kernel causes: from the thread that waits for the deadline to
// the thread that would run it, back, and through a socket to the thread that waits for the result.
// The threads do no work.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct hops {
    int count;
    const int64_t *deadlines;
    int to_runner;
    int to_keeper;
    int sockets[2];
};

static void *run_when_told(void *context) {
    struct hops *hops = context;
    uint64_t told;
    for (int index = 0; index < hops->count; index++) {
        if (read(hops->to_runner, &told, sizeof told) < 0) return NULL;
        uint64_t one = 1;
        if (write(hops->to_keeper, &one, sizeof one) < 0) return NULL;
    }
    return NULL;
}

static void *keep_time(void *context) {
    struct hops *hops = context;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    for (int index = 0; index < hops->count; index++) {
        struct timespec deadline = {
            hops->deadlines[index] / 1000000000, hops->deadlines[index] % 1000000000};
        while (now() < hops->deadlines[index])
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
        uint64_t one = 1, done;
        if (write(hops->to_runner, &one, sizeof one) < 0
            || read(hops->to_keeper, &done, sizeof done) < 0
            || write(hops->sockets[1], "", 1) < 0) return NULL;
    }
    return NULL;
}

int measure_lateness_hops(int count, const int64_t *deadlines, int64_t *lateness) {
    struct hops hops = {
        count, deadlines, eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC), {-1, -1}};
    if (hops.to_runner < 0 || hops.to_keeper < 0
        || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hops.sockets) < 0) return -errno;
    pthread_t runner, keeper;
    int result = pthread_create(&runner, NULL, run_when_told, &hops);
    if (result != 0) return -result;
    result = pthread_create(&keeper, NULL, keep_time, &hops);
    if (result != 0) return -result;
    for (int index = 0; index < count && result == 0; index++) {
        char byte;
        if (read(hops.sockets[0], &byte, 1) != 1) result = -EIO;
        lateness[index] = now() - deadlines[index];
    }
    pthread_join(keeper, NULL);
    pthread_join(runner, NULL);
    close(hops.to_runner);
    close(hops.to_keeper);
    close(hops.sockets[0]);
    close(hops.sockets[1]);
    return result;
}
