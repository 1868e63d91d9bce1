// The distance between two cores: two threads pass a word back and forth without sleeping, so that
// only the transfer of the cache line is measured.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { line = 64, patience = 10000 };

struct ball {
    _Alignas(line) _Atomic long word;
    _Alignas(line) long count;
};

static void wait_for(struct ball *ball, long value) {
    for (long tries = 1; atomic_load_explicit(&ball->word, memory_order_acquire) != value; tries++)
        // On one cpu the other thread must get its turn.
        if (tries % patience == 0) sched_yield();
}

static void *play_back(void *argument) {
    struct ball *ball = argument;
    for (long turn = 0; turn < ball->count; turn++) {
        wait_for(ball, 2 * turn + 1);
        atomic_store_explicit(&ball->word, 2 * turn + 2, memory_order_release);
    }
    return NULL;
}

int64_t measure_line(long count) {
    struct ball ball = {.count = count};
    pthread_t other;
    int result = pthread_create(&other, NULL, play_back, &ball);
    if (result != 0) return -result;
    // The first one shows that the other thread is there.
    int64_t start = now();
    for (long turn = 0; turn < count; turn++) {
        atomic_store_explicit(&ball.word, 2 * turn + 1, memory_order_release);
        wait_for(&ball, 2 * turn + 2);
        if (turn == 0) start = now();
    }
    int64_t duration = now() - start;
    pthread_join(other, NULL);
    return duration;
}
