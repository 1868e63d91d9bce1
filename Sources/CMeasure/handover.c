// The lowest cost of handing memory to another thread: one thread allocates and puts the address
// into a ring, the other takes it out and frees it. Also the cost of the ring alone. Also the cost
// if the memory refers to a shared object, as a closure does that captures one: one thread
// increments the reference count, the other uses the object, and decrements the counts of the
// memory and of the object. The latter also by several threads at once, each of which claims a
// slot.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { line = 64 };

// The shared object: Swift keeps the reference count in front of the contents.
struct object {
    _Atomic long references;
    _Atomic long sum;
    _Atomic long done;
};

struct ring {
    _Alignas(line) _Atomic long taken;
    _Alignas(line) _Atomic long put;
    _Alignas(line) struct object shared;
    _Alignas(line) long count;
    long slot_count;
    size_t size;
    int counts;
    void *slots[];
};

// The content of the ring when nothing is allocated.
static char nothing;

// As in Swift's runtime: a load first, so that the cache line comes twice when the other thread has
// it.
static void change(_Atomic long *references, long step) {
    long seen = atomic_load_explicit(references, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        references, &seen, seen + step, memory_order_release, memory_order_relaxed));
}

// The posted work: it writes to the shared object.
static void use(struct object *shared, long index) {
    long sum = atomic_load_explicit(&shared->sum, memory_order_relaxed);
    atomic_store_explicit(&shared->sum, sum + index, memory_order_relaxed);
    long done = atomic_load_explicit(&shared->done, memory_order_relaxed);
    atomic_store_explicit(&shared->done, done + 1, memory_order_relaxed);
}

static void perform(struct object *shared, long index, void *block) {
    use(shared, index);
    change((_Atomic long *)block + 1, -1);
    change(&shared->references, -1);
}

static void *make(size_t size) {
    void *block = malloc(size);
    // A user would write the memory that is handed over.
    memset(block, 1, size);
    return block;
}

static void *take_all(void *argument) {
    struct ring *ring = argument;
    long put = 0;
    for (long index = 0; index < ring->count; index++) {
        while (index == put) {
            put = atomic_load_explicit(&ring->put, memory_order_acquire);
            // On one cpu the other thread must get its turn.
            if (index == put) sched_yield();
        }
        void *block = ring->slots[index & (ring->slot_count - 1)];
        if (ring->counts) perform(&ring->shared, index, block);
        if (ring->size > 0) free(block);
        atomic_store_explicit(&ring->taken, index + 1, memory_order_release);
    }
    return NULL;
}

int64_t measure_handover(long count, size_t size, long slot_count, int counts) {
    size_t ring_size = sizeof(struct ring) + slot_count * sizeof(void *);
    struct ring *ring = aligned_alloc(line, (ring_size + line - 1) / line * line);
    if (!ring) return -1;
    // All of it, so that none is touched for the first time while the clock runs.
    memset(ring, 0, ring_size);
    ring->count = count;
    ring->slot_count = slot_count;
    ring->size = size;
    ring->counts = counts;
    pthread_t taker;
    int result = pthread_create(&taker, NULL, take_all, ring);
    if (result != 0) return -result;
    int64_t start = now();
    long taken = 0;
    for (long index = 0; index < count; index++) {
        void *block = size > 0 ? make(size) : &nothing;
        if (counts) change(&ring->shared.references, 1);
        while (index - taken == slot_count) {
            taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
            if (index - taken == slot_count) sched_yield();
        }
        ring->slots[index & (slot_count - 1)] = block;
        atomic_store_explicit(&ring->put, index + 1, memory_order_release);
    }
    pthread_join(taker, NULL);
    int64_t duration = now() - start;
    free(ring);
    return duration;
}

enum { producers_max = 16 };

struct crowd {
    _Alignas(line) _Atomic long claimed;
    _Alignas(line) struct object shared;
    _Alignas(line) long count;
    long each;
    size_t size;
    int counts;
    void *_Atomic slots[];
};

static void *put_part(void *argument) {
    struct crowd *crowd = argument;
    for (long index = 0; index < crowd->each; index++) {
        void *block = crowd->size > 0 ? make(crowd->size) : &nothing;
        if (crowd->counts) change(&crowd->shared.references, 1);
        long slot = atomic_fetch_add_explicit(&crowd->claimed, 1, memory_order_relaxed);
        atomic_store_explicit(&crowd->slots[slot], block, memory_order_release);
    }
    return NULL;
}

static void *take_from_all(void *argument) {
    struct crowd *crowd = argument;
    for (long index = 0; index < crowd->count; index++) {
        void *block;
        while (!(block = atomic_load_explicit(&crowd->slots[index], memory_order_acquire)))
            sched_yield();
        if (crowd->counts) perform(&crowd->shared, index, block);
        if (crowd->size > 0) free(block);
    }
    return NULL;
}

int64_t measure_handover_of_many(long count, size_t size, int producers, int counts) {
    if (producers > producers_max) return -1;
    size_t crowd_size = sizeof(struct crowd) + count * sizeof(void *);
    struct crowd *crowd = aligned_alloc(line, (crowd_size + line - 1) / line * line);
    if (!crowd) return -1;
    memset(crowd, 0, crowd_size);
    crowd->each = count / producers;
    crowd->count = crowd->each * producers;
    crowd->size = size;
    crowd->counts = counts;
    pthread_t taker, threads[producers_max];
    int result = pthread_create(&taker, NULL, take_from_all, crowd);
    if (result != 0) return -result;
    int64_t start = now();
    for (int producer = 0; producer < producers; producer++)
        if (pthread_create(&threads[producer], NULL, put_part, crowd) != 0) abort();
    pthread_join(taker, NULL);
    int64_t duration = now() - start;
    for (int producer = 0; producer < producers; producer++) pthread_join(threads[producer], NULL);
    free(crowd);
    return duration;
}
