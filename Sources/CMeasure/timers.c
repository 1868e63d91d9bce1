// The lowest cost of a time-out: a block of memory in place of a closure, and 16 bytes in a 4-ary
// heap that does not know its entries' places. A cancel frees the block: the entry stays in the
// heap and is never looked at.
#include "clock.h"
#include "measure.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
    int64_t deadline;
    int64_t index;
};

static void push(struct entry *heap, long position, struct entry entry) {
    while (position > 0) {
        long parent = (position - 1) / 4;
        if (heap[parent].deadline <= entry.deadline) break;
        heap[position] = heap[parent];
        position = parent;
    }
    heap[position] = entry;
}

// Adds one after the other; returns the number that there was memory for.
static long schedule(
    long count, const int64_t *deadlines, size_t size, struct entry **heap, void **blocks) {
    long capacity = 0;
    for (long index = 0; index < count; index++) {
        int64_t *block = malloc(size);
        if (!block) return index;
        *block = index;
        blocks[index] = block;
        if (index == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            struct entry *larger = realloc(*heap, capacity * sizeof **heap);
            if (!larger) return index + 1;
            *heap = larger;
        }
        push(*heap, index, (struct entry){deadlines[index], index});
    }
    return count;
}

int measure_timers(
    long count, const int64_t *deadlines, size_t size, int64_t *scheduling, int64_t *cancelling) {
    struct entry *heap = NULL;
    // Not touched before, as a user's table of timers to cancel is not, either.
    void **blocks = malloc(count * sizeof *blocks);
    if (!blocks) return -ENOMEM;
    int64_t start = now();
    long scheduled = schedule(count, deadlines, size, &heap, blocks);
    int64_t end = now();
    *scheduling = end - start;
    for (long index = 0; index < scheduled; index++) {
        free(blocks[index]);
        blocks[index] = NULL;
    }
    *cancelling = now() - end;
    free(blocks);
    free(heap);
    return scheduled == count ? 0 : -ENOMEM;
}
