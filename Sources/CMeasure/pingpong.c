// The lowest cost of two threads that wake each other in turn: by two futexes, and by two
// descriptors that each waits for with epoll, as a loop that watches descriptors must.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct side {
    _Atomic uint32_t word;
    int event;
    int epoll;
};

struct table {
    struct side sides[2];
    int count;
    int has_descriptors;
};

static void serve(struct side *side, int has_descriptors) {
    if (has_descriptors) {
        uint64_t one = 1;
        // As large as the counter is: it can fail only for a closed descriptor.
        if (write(side->event, &one, sizeof one) < 0) return;
    } else {
        atomic_store(&side->word, 1);
        syscall(SYS_futex, &side->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void await(struct side *side, int has_descriptors) {
    if (has_descriptors) {
        struct epoll_event event;
        while (epoll_wait(side->epoll, &event, 1, -1) != 1) {}
    } else {
        while (!atomic_exchange(&side->word, 0))
            syscall(SYS_futex, &side->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

static void *play_second(void *argument) {
    struct table *table = argument;
    for (int index = 0; index < table->count; index++) {
        await(&table->sides[1], table->has_descriptors);
        serve(&table->sides[0], table->has_descriptors);
    }
    return NULL;
}

static int open_side(struct side *side) {
    side->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    side->epoll = epoll_create1(EPOLL_CLOEXEC);
    // Edge-triggered: the counter need not be read.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    return side->event < 0 || side->epoll < 0
        || epoll_ctl(side->epoll, EPOLL_CTL_ADD, side->event, &event) < 0 ? -errno : 0;
}

int64_t measure_pingpong(int count, int has_descriptors) {
    struct table table = {.count = count, .has_descriptors = has_descriptors};
    for (int side = 0; has_descriptors && side < 2; side++) {
        int result = open_side(&table.sides[side]);
        if (result < 0) return result;
    }
    pthread_t second;
    int result = pthread_create(&second, NULL, play_second, &table);
    if (result != 0) return -result;
    int64_t start = now();
    for (int index = 0; index < count; index++) {
        serve(&table.sides[1], has_descriptors);
        await(&table.sides[0], has_descriptors);
    }
    int64_t duration = now() - start;
    pthread_join(second, NULL);
    for (int side = 0; has_descriptors && side < 2; side++) {
        close(table.sides[side].event);
        close(table.sides[side].epoll);
    }
    return duration;
}
