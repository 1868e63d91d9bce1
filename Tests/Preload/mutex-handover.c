/* Tells the thread sanitizer where the standard library's Mutex is handed from thread to thread.
 *
 * Loaded with LD_PRELOAD by Scripts/sanitize. An uncontended Mutex is locked and unlocked by code
 * that is inlined into its user, which the sanitizer sees. A contended one is locked and unlocked
 * by two functions of the standard library, which is not instrumented: the sanitizer would report
 * data that one thread writes under the lock and the next one reads there. The functions below
 * stand in for those two, call them, and tell the sanitizer that a lock acquires and an unlock
 * releases. Nothing else is hidden from it.
 *
 * Swift's calling convention for both: the Mutex in r13, the argument in edi, nothing returned.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

/* The sanitizer's; not there in programs that run without it. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

void *mutex_handover_lock(void) { return dlsym(RTLD_NEXT, LOCK); }

void *mutex_handover_unlock(void) { return dlsym(RTLD_NEXT, UNLOCK); }

void mutex_handover_locked(void *mutex) {
    if (__tsan_acquire) __tsan_acquire(mutex);
}

void mutex_handover_unlocking(void *mutex) {
    if (__tsan_release) __tsan_release(mutex);
}

#define FUNCTION(name, body) \
    __asm__(".globl \"" name "\"\n.type \"" name "\", @function\n\"" name "\":\n" body);

FUNCTION(LOCK,
    "push %rbx\n"
    "push %rdi\n"
    "sub $8, %rsp\n"
    "call mutex_handover_lock@PLT\n"
    "add $8, %rsp\n"
    "pop %rdi\n"
    "call *%rax\n"
    "mov %r13, %rdi\n"
    "call mutex_handover_locked@PLT\n"
    "pop %rbx\n"
    "ret\n")

FUNCTION(UNLOCK,
    "push %rbx\n"
    "mov %r13, %rdi\n"
    "call mutex_handover_unlocking@PLT\n"
    "call mutex_handover_unlock@PLT\n"
    "call *%rax\n"
    "pop %rbx\n"
    "ret\n")
