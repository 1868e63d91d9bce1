// What workbench needs and Swift can't say: counting allocations, the cpu to run on, and the floors
// under what it measures: the bare calls of the kernel and of the allocator, with no loop around
// them. Linked into workbench only.
#pragma once

#include <stddef.h>
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

/// Sleeps; timed waits of the calling thread end from then on as exactly as the kernel can.
void measure_sleep(int64_t nanoseconds);

/// Wakes a thread that sleeps on a futex, `count` times, with a pause before each so that it sleeps.
/// Gives for each the duration of the waking call and the time from before the call until the
/// thread runs. Returns 0 or -errno.
int measure_futex_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies);

/// The same with a thread that waits by epoll for an eventfd.
int measure_eventfd_wakes(
    int count, int64_t pause_nanoseconds, int64_t *calls, int64_t *latencies);

/// Lets two threads wake each other in turn, `count` times there and back: by a futex each, or by an
/// eventfd and epoll each. Returns nanoseconds, or -errno.
int64_t measure_pingpong(int count, int has_descriptors);

/// Hands `count` blocks of `size` bytes to another thread, which frees them; with size 0 nothing is
/// allocated. At most `slot_count` are on their way, a power of two. With `counts`, for blocks of
/// 16 bytes at least, each of them is counted as a closure is that captures an object: the object up
/// here; there it is used, and the block and it are counted down. Returns nanoseconds, or less than 0.
int64_t measure_handover(long count, size_t size, long slot_count, int counts);

/// The same with `producers` threads that hand over a part each; all may be on their way.
int64_t measure_handover_of_many(long count, size_t size, int producers, int counts);

/// Schedules `count` timers and cancels them in the same order: for each a block of `size` bytes, and its
/// deadline in a heap. Gives how long all of that took. Returns 0 or -errno.
int measure_timers(
    long count, const int64_t *deadlines, size_t size, int64_t *scheduling, int64_t *cancelling);

/// Lets a cache line go to another core and come back, `count` times but the first. Returns
/// nanoseconds, or -errno.
int64_t measure_line(long count);

/// Starts so many threads, each when the one before runs; they sleep. Returns 0 or -errno.
int measure_threads_start(int count);

/// Ends them all.
void measure_threads_end(void);

/// Waits for deadlines of the monotonic clock, earliest first, and gives how late it was for each:
/// by futex(2) or by timerfd_create(2) and epoll. Returns 0 or -errno.
int measure_lateness_futex(int count, const int64_t *deadlines, int64_t *lateness);
int measure_lateness_timerfd(int count, const int64_t *deadlines, int64_t *lateness);

/// The same for what is due, passed to a second thread and back, and from there through a socket to
/// the calling one: `lateness` is when that has it. Returns 0 or -errno.
int measure_lateness_hops(int count, const int64_t *deadlines, int64_t *lateness);

/// Writes `size` bytes and syncs them, `count` times: at the end of a file, or into space that was
/// written before. Gives how long each took. Returns 0 or -errno.
int measure_synced_writes(
    const char *path, int count, size_t size, int is_prewritten, int64_t *durations);

/// Serves at a Unix socket until it is killed: after a greeting, each `job_size` bytes of a connection
/// are a job, answered by a line when it is in the file and synced, with all that came together. Returns
/// -errno if it can't.
int measure_serve_synced(const char *socket_path, const char *file_path, size_t job_size);

/// The same, written by a second thread with SQLite, as workerd does.
int measure_serve_with_sqlite(const char *socket_path, const char *file_path, size_t job_size);

/// Returns whether what is written to a directory stays in memory (tmpfs, ramfs), or -errno.
int measure_is_in_memory(const char *directory);
