// Counts calls of the malloc family: the program's own definitions come before those of the library
// that really allocates (glibc, or mimalloc where that is linked), and pass on to it.
//
// Only calls between start and stop are counted; outside of that the price is one relaxed load.
#define _GNU_SOURCE
#include "measure.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Atomic int is_counting;
static _Atomic uint64_t count;
static _Atomic uint64_t bytes;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);

// dlsym may allocate before the first address is known: from here, never to be freed. glibc's free
// is not interposed, so such memory must not reach it; dlsym keeps these early allocations.
static char early[4096];
static size_t early_used;

static void *allocate_early(size_t size) {
    size_t start = (early_used + 15) & ~(size_t)15;
    if (start + size > sizeof early) return NULL;
    early_used = start + size;
    return early + start;
}

static void find_next(void) {
    static int is_looking;
    if (is_looking) return;
    is_looking = 1;
    next_calloc = dlsym(RTLD_NEXT, "calloc");
    next_realloc = dlsym(RTLD_NEXT, "realloc");
    next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    next_malloc = dlsym(RTLD_NEXT, "malloc");
    is_looking = 0;
}

static inline void note(size_t size) {
    if (!atomic_load_explicit(&is_counting, memory_order_relaxed)) return;
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
}

void *malloc(size_t size) {
    note(size);
    if (!next_malloc) find_next();
    return next_malloc ? next_malloc(size) : allocate_early(size);
}

void *calloc(size_t number, size_t size) {
    note(number * size);
    if (!next_calloc) find_next();
    // The early memory is zero already.
    return next_calloc ? next_calloc(number, size) : allocate_early(number * size);
}

void *realloc(void *old, size_t size) {
    note(size);
    if (!next_realloc) find_next();
    return next_realloc ? next_realloc(old, size) : NULL;
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    note(size);
    if (!next_posix_memalign) find_next();
    return next_posix_memalign ? next_posix_memalign(result, alignment, size) : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(size);
    if (!next_aligned_alloc) find_next();
    return next_aligned_alloc ? next_aligned_alloc(alignment, size) : NULL;
}

void measure_allocations_start(void) {
    atomic_store(&count, 0);
    atomic_store(&bytes, 0);
    atomic_store(&is_counting, 1);
}

struct measure_allocations measure_allocations_stop(void) {
    atomic_store(&is_counting, 0);
    struct measure_allocations result = {atomic_load(&count), atomic_load(&bytes)};
    return result;
}
