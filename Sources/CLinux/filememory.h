// Stores into memory that is a file. If the kernel can't bring a page to the file, it sends SIGBUS;
// then the handler replaces the page by one without a file, and the store goes there. No logic but
// the handler's, which must be C: it may touch nothing that Swift's runtime could be in the middle
// of.
#pragma once

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// The bytes that a thread may store into right now; empty while it does not.
struct clinux_guarded { uintptr_t start, end; };

/// The state from before the handler was installed.
struct clinux_bus { uintptr_t page_size; struct sigaction previous; };

// Variables of functions: a Swift module does not see those of a header.
static inline struct clinux_guarded *clinux_guarded(void) {
    static _Thread_local struct clinux_guarded guarded;
    return &guarded;
}

static inline struct clinux_bus *clinux_bus(void) {
    static struct clinux_bus bus;
    return &bus;
}

static inline void clinux_bus_handler(int number, siginfo_t *information, void *context) {
    (void)context;
    uintptr_t fault = (uintptr_t)information->si_addr;
    if (information->si_code > 0 && fault >= clinux_guarded()->start
        && fault < clinux_guarded()->end) {
        int saved = errno;
        void *page = mmap(
            (void *)(fault & ~(clinux_bus()->page_size - 1)), clinux_bus()->page_size,
            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        errno = saved;
        if (page != MAP_FAILED) return;
    }
    // Not ours: the signal comes again, and finds the previous handler.
    sigaction(number, &clinux_bus()->previous, NULL);
    if (information->si_code <= 0) raise(number);
}

/// sigaction(2): installs the handler, for good.
///
/// Returns 0 or -errno.
static inline int clinux_install_bus_handler(void) {
    clinux_bus()->page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = clinux_bus_handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &clinux_bus()->previous) < 0 ? -errno : 0;
}

/// From here on this thread stores into these bytes only.
static inline void clinux_guard(const void *start, size_t byteCount) {
    struct clinux_guarded *guarded = clinux_guarded();
    guarded->start = (uintptr_t)start;
    guarded->end = (uintptr_t)start + byteCount;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/// Ends the stores.
static inline void clinux_unguard(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct clinux_guarded *guarded = clinux_guarded();
    guarded->start = guarded->end = 0;
}
