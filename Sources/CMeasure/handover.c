// The least that handing memory to another thread can cost: one thread allocates and puts the
// address into a ring, the other takes it out and frees it. And the ring alone.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { slot_count = 4096, line = 64 };

struct ring {
    _Alignas(line) _Atomic long taken;
    _Alignas(line) _Atomic long put;
    _Alignas(line) void *slots[slot_count];
    long count;
    size_t size;
};

// What is in the ring when nothing is allocated.
static char nothing;

static void *take_all(void *argument) {
    struct ring *ring = argument;
    long put = 0;
    for (long index = 0; index < ring->count; index++) {
        while (index == put) {
            put = atomic_load_explicit(&ring->put, memory_order_acquire);
            // On one cpu the other thread has to get its turn.
            if (index == put) sched_yield();
        }
        void *block = ring->slots[index % slot_count];
        if (ring->size > 0) free(block);
        atomic_store_explicit(&ring->taken, index + 1, memory_order_release);
    }
    return NULL;
}

int64_t measure_handover(long count, size_t size) {
    struct ring *ring = aligned_alloc(line, sizeof *ring);
    if (!ring) return -1;
    memset(ring, 0, sizeof *ring);
    ring->count = count;
    ring->size = size;
    pthread_t taker;
    int result = pthread_create(&taker, NULL, take_all, ring);
    if (result != 0) return -result;
    int64_t start = now();
    long taken = 0;
    for (long index = 0; index < count; index++) {
        void *block = &nothing;
        if (size > 0) {
            block = malloc(size);
            // Somebody would write what is handed over.
            memset(block, 1, size);
        }
        while (index - taken == slot_count) {
            taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
            if (index - taken == slot_count) sched_yield();
        }
        ring->slots[index % slot_count] = block;
        atomic_store_explicit(&ring->put, index + 1, memory_order_release);
    }
    pthread_join(taker, NULL);
    int64_t duration = now() - start;
    free(ring);
    return duration;
}
