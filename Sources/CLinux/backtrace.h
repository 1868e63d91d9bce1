// The position of another thread: a signal whose handler records the return addresses on that
// thread's stack. No logic but the handler's, which must be C: it may touch nothing that Swift's
// runtime could be in the middle of.
#pragma once

#include <errno.h>
#include <execinfo.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define CLINUX_FRAME_LIMIT 128

/// The record that a thread fills in about itself; ThreadBacktrace.swift says which thread owns it.
struct clinux_capture {
    /// 0 unused, 1 asked for, 2 filled in, 3 given up, 4 being filled in.
    uint32_t state;
    int32_t count;
    /// A word that the thread writes to, whose value is recorded; or NULL.
    const uint64_t *word;
    uint64_t stamp;
    /// The address at which the signal came; 0 if that is not known.
    uintptr_t interrupted;
    void *frames[CLINUX_FRAME_LIMIT];
};

extern long syscall(long number, ...);
/// Of Swift's own library, which every program here is linked with.
extern char *swift_demangle(
    const char *mangled, size_t length, char *output, size_t *outputLength, uint32_t flags);

static inline void clinux_capture_handler(int number, siginfo_t *information, void *context) {
    (void)number;
    if (information->si_code != SI_QUEUE || information->si_pid != getpid()) return;
    struct clinux_capture *capture = information->si_value.sival_ptr;
    if (!capture) return;
    uint32_t asked = 1, givenUp = 3;
    if (!__atomic_compare_exchange_n(
            &capture->state, &asked, 4, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_compare_exchange_n(
            &capture->state, &givenUp, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return;
    }
    int saved = errno;
    if (capture->word) capture->stamp = __atomic_load_n(capture->word, __ATOMIC_RELAXED);
    uintptr_t interrupted = 0;
#if defined(__x86_64__)
    interrupted = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[16];
#elif defined(__aarch64__)
    interrupted = (uintptr_t)((ucontext_t *)context)->uc_mcontext.pc;
#endif
    capture->interrupted = interrupted;
    capture->count = backtrace(capture->frames, CLINUX_FRAME_LIMIT);
    __atomic_store_n(&capture->state, 2, __ATOMIC_RELEASE);
    syscall(SYS_futex, &capture->state, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
    errno = saved;
}

/// Makes `backtrace` load its library, which it must not do in a signal handler.
static inline void clinux_prepare_backtrace(void) {
    void *frames[2];
    backtrace(frames, 2);
}

/// sigaction(2): installs the handler for an unused signal.
///
/// Returns 0, -EBUSY if the signal has a handler, or -errno.
static inline int clinux_install_capture_handler(int number) {
    struct sigaction present;
    if (sigaction(number, NULL, &present) < 0) return -errno;
    if (present.sa_handler != SIG_DFL) return -EBUSY;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = clinux_capture_handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    return sigaction(number, &action, NULL) < 0 ? -errno : 0;
}

/// rt_tgsigqueueinfo(2) to a thread of this process. Returns 0 or -errno.
static inline int clinux_ask_thread(pid_t thread, int number, struct clinux_capture *capture) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    information.si_signo = number;
    information.si_code = SI_QUEUE;
    information.si_pid = getpid();
    information.si_uid = getuid();
    information.si_value.sival_ptr = capture;
    long result = syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, number, &information);
    return result < 0 ? -errno : 0;
}

/// Cancels the request: no thread waits for the answer.
///
/// Returns whether it had not begun to answer.
static inline int clinux_give_up_capture(struct clinux_capture *capture) {
    uint32_t asked = 1;
    return __atomic_compare_exchange_n(
        &capture->state, &asked, 3, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline uint32_t clinux_capture_state(const struct clinux_capture *capture) {
    return __atomic_load_n(&capture->state, __ATOMIC_ACQUIRE);
}

static inline void clinux_set_capture_state(struct clinux_capture *capture, uint32_t state) {
    __atomic_store_n(&capture->state, state, __ATOMIC_RELEASE);
}

/// The result of dladdr(3) for an address; the strings belong to the dynamic linker.
struct clinux_symbol {
    const char *image;
    uintptr_t base;
    const char *name;
    uintptr_t start;
};

extern int dladdr(const void *address, void *information);
extern unsigned long getauxval(unsigned long type);

/// dladdr(3).
///
/// Returns whether the address lies in an image.
static inline int clinux_find_symbol(uintptr_t address, struct clinux_symbol *found) {
    struct { const char *file; void *base; const char *name; void *start; } information;
    if (!dladdr((const void *)address, &information)) return 0;
    found->image = information.file;
    found->base = (uintptr_t)information.base;
    found->name = information.name;
    found->start = (uintptr_t)information.start;
    return 1;
}

/// The address of the running program's headers, from getauxval(3).
static inline uintptr_t clinux_program_headers(void) { return getauxval(3); }
