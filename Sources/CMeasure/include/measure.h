// The C part of workbench: it counts allocations, chooses the cpu, and measures the floors: the
// bare calls of the kernel and of the allocator, with no loop around them. Linked into workbench
// only.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The number of allocations, and their bytes.
struct measure_allocations {
    uint64_t count;
    uint64_t bytes;
};

/// Counts the allocations of all threads from now on, from zero.
void measure_allocations_start(void);

/// Stops counting.
///
/// Returns the counts since the start.
struct measure_allocations measure_allocations_stop(void);

/// Pins the calling thread, and all threads and processes that it starts later, to one cpu.
///
/// Returns 0 or -errno.
int measure_pin(int cpu);

/// Sleeps; timed waits of the calling thread end from then on as exactly as the kernel can.
void measure_sleep(int64_t nanoseconds);

/// Wakes a thread that sleeps on a futex, `count` times, with a pause before each so that it
/// sleeps.
///
/// Gives for each the duration of the waking call and the time from before the call until the
/// thread runs. Returns 0 or -errno.
int measure_futex_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies);

/// The same with a thread that waits by epoll for an eventfd.
int measure_eventfd_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies);

/// Lets two threads wake each other in turn, `count` times there and back: by a futex each, or by
/// an eventfd and epoll each.
///
/// Returns nanoseconds, or -errno.
int64_t measure_pingpong(int count, int has_descriptors);

/// Hands `count` blocks of `size` bytes to another thread, which frees them; with size 0 nothing is
/// allocated.
///
/// At most `slot_count`, a power of two, are in flight. With `counts`, for blocks of 16 bytes at
/// least, each block refers to a shared object, as a closure does that captures one: the object's
/// count goes up here; there the object is used, and the counts of block and object go down.
/// Returns nanoseconds, or less than 0.
int64_t measure_handover(long count, size_t size, long slot_count, int counts);

/// The same with `producers` threads that hand over a part each; all blocks may be in flight.
int64_t measure_handover_of_many(long count, size_t size, int producers, int counts);

/// Schedules `count` timers and cancels them in the same order: for each a block of `size` bytes,
/// and its deadline in a heap.
///
/// Gives the durations of both. Returns 0 or -errno.
int measure_timers(
    long count, const int64_t *deadlines, size_t size, int64_t *scheduling, int64_t *cancelling);

/// Passes a cache line to another core and back, `count` times but the first.
///
/// Returns nanoseconds, or -errno.
int64_t measure_line(long count);

/// Starts `count` threads, each when the one before runs; they sleep.
///
/// Returns 0 or -errno.
int measure_threads_start(int count);

/// Ends them all.
void measure_threads_end(void);

/// Waits for deadlines of the monotonic clock, earliest first, and gives the lateness of each: by
/// futex(2) or by timerfd_create(2) and epoll.
///
/// Returns 0 or -errno.
int measure_lateness_futex(int count, const int64_t *deadlines, int64_t *lateness);
int measure_lateness_timerfd(int count, const int64_t *deadlines, int64_t *lateness);

/// The same for a due job, passed to a second thread and back, and from there through a socket to
/// the calling one: `lateness` ends when that has it.
///
/// Returns 0 or -errno.
int measure_lateness_hops(int count, const int64_t *deadlines, int64_t *lateness);

/// Writes `size` bytes and syncs them, `count` times: at the end of a file, or into space that was
/// written before.
///
/// Gives the duration of each. Returns 0 or -errno.
int measure_synced_writes(
    const char *path, int count, size_t size, int is_prewritten, int64_t *durations);

/// Serves at a Unix socket until it is killed: after a greeting, each `job_size` bytes of a
/// connection are a job, answered by a line when it is in the file and synced, together with all
/// that have arrived.
///
/// Returns -errno if it can't.
int measure_serve_synced(const char *socket_path, const char *file_path, size_t job_size);

/// The same, written by a second thread with SQLite, as workerd does.
int measure_serve_with_sqlite(const char *socket_path, const char *file_path, size_t job_size);

/// Returns whether the files of a directory stay in memory (tmpfs, ramfs), or -errno.
int measure_is_in_memory(const char *directory);
