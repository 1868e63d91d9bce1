// Additions to Swift's Glibc module: kernel interfaces declared in headers that it leaves out, and
// variadic functions. No logic lives here.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// Swift's Glibc module is built without _GNU_SOURCE, and a module may not see a header in two ways:
// functions that need _GNU_SOURCE are declared here by hand.
extern int epoll_pwait2(
    int epfd, struct epoll_event *events, int maxevents, const struct timespec *timeout,
    const sigset_t *ss);
extern int pthread_setname_np(pthread_t target, const char *name);
extern int posix_spawn_file_actions_addchdir_np(
    posix_spawn_file_actions_t *actions, const char *path);
extern int accept4(int fd, void *address, unsigned *length, int flags);
extern int pipe2(int pipes[2], int flags);
extern long syscall(long number, ...);

/// futex(2), FUTEX_WAIT_BITSET: sleeps while *word == expected, until the absolute monotonic
/// deadline (NULL: without end). Returns 0 or -errno.
static inline int clinux_futex_wait(
    const void *word, uint32_t expected, const struct timespec *deadline) {
    long result = syscall(
        SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, deadline, NULL,
        FUTEX_BITSET_MATCH_ANY);
    return result < 0 ? -errno : 0;
}

/// futex(2), FUTEX_WAKE: wakes at most `count` sleepers.
///
/// Returns their number, or -errno.
static inline int clinux_futex_wake(const void *word, int count) {
    long result = syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count);
    return result < 0 ? -errno : (int)result;
}

/// getrandom(2): fills bytes at random.
///
/// Returns their number, or -1 and errno.
static inline long clinux_random(void *bytes, size_t count) {
    return syscall(SYS_getrandom, bytes, count, 0);
}

/// renameat2(2), RENAME_NOREPLACE. Returns 0, or -1 and errno.
static inline long clinux_rename_to_free(const char *path, const char *newPath) {
    const unsigned noReplace = 1;
    return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, newPath, noReplace);
}

/// Tells the processor that the thread spins on a word.
static inline void clinux_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/// sched_getaffinity(2): the number of processors that the process's first thread may run on.
static inline int clinux_processor_count(void) {
    unsigned long mask[128] = {0};
    // EINVAL: there are more than the mask has bits, 8,192.
    if (syscall(SYS_sched_getaffinity, getpid(), sizeof mask, mask) < 0) return 8192;
    int count = 0;
    for (int word = 0; word < 128; word++) count += __builtin_popcountl(mask[word]);
    return count;
}

/// pidfd_open(2); the descriptor is close-on-exec. Returns it, or -errno.
static inline int clinux_pidfd_open(pid_t pid) {
    long result = syscall(SYS_pidfd_open, pid, 0);
    return result < 0 ? -errno : (int)result;
}

/// pidfd_send_signal(2). Returns 0 or -errno.
static inline int clinux_pidfd_send_signal(int pidfd, int signal) {
    long result = syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
    return result < 0 ? -errno : 0;
}

/// fcntl(2) with an integer argument. Returns its result, or -errno.
static inline int clinux_fcntl(int fd, int command, int argument) {
    int result = fcntl(fd, command, argument);
    return result < 0 ? -errno : result;
}

/// gettid(2), the id of the calling thread.
static inline pid_t clinux_gettid(void) { return (pid_t)syscall(SYS_gettid); }

/// sched_setaffinity(2) for the calling thread. Returns 0, or -1 and errno.
static inline long clinux_set_affinity(const uint64_t *mask, size_t size) {
    return syscall(SYS_sched_setaffinity, 0, size, mask);
}

/// setpriority(2), PRIO_PROCESS, of one thread. Returns 0, or -1 and errno.
static inline int clinux_set_niceness(pid_t thread, int niceness) {
    return (int)syscall(SYS_setpriority, 0, thread, niceness);
}

/// prctl(2), PR_SET_TIMERSLACK for the calling thread, in nanoseconds.
static inline void clinux_set_timer_slack(unsigned long nanoseconds) {
    prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}
