// What workbench needs and Swift can't say: counting allocations, the cpu to run on, and the floor
// under every wake-up, a bare futex. Linked into workbench only.
#pragma once

#include <stdint.h>

/// How often memory was asked for, and how much of it.
struct measure_allocations {
    uint64_t count;
    uint64_t bytes;
};

/// Counts the allocations of all threads from now on, from zero.
void measure_allocations_start(void);

/// Stops counting. Returns what was counted since the start.
struct measure_allocations measure_allocations_stop(void);

/// Lets the calling thread, and all threads and processes that it starts later, run on one cpu
/// only. Returns 0 or -errno.
int measure_pin(int cpu);

/// Wakes a thread that sleeps on a futex, `count` times, with a pause before each so that it sleeps.
/// Gives for each the duration of the waking call and the time from before the call until the
/// thread runs. Returns 0 or -errno.
int measure_futex_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies);

/// Sleeps; timed waits of the calling thread end from then on as exactly as the kernel can.
void measure_sleep(int64_t nanoseconds);
