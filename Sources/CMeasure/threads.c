// The lowest cost of a thread: pthread_create, until it runs; then it sleeps on a futex.
#define _GNU_SOURCE
#include "measure.h"

#include <linux/futex.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t is_ready;
static _Atomic uint32_t is_ended;

static void *sleep_to_the_end(void *argument) {
    (void)argument;
    atomic_store(&is_ready, 1);
    syscall(SYS_futex, &is_ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (!atomic_load(&is_ended))
        syscall(SYS_futex, &is_ended, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}

int measure_threads_start(int count) {
    atomic_store(&is_ended, 0);
    for (int index = 0; index < count; index++) {
        pthread_t thread;
        atomic_store(&is_ready, 0);
        int result = pthread_create(&thread, NULL, sleep_to_the_end, NULL);
        if (result != 0) return -result;
        pthread_detach(thread);
        while (!atomic_load(&is_ready))
            syscall(SYS_futex, &is_ready, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    return 0;
}

void measure_threads_end(void) {
    atomic_store(&is_ended, 1);
    syscall(SYS_futex, &is_ended, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
