// Runs Swift's tasks on more threads than the machine has cores.
//
// A test that waits for another process blocks its thread. Swift has one thread for each core, so
// on two cores two such tests keep all others from running, and the cores are idle. The runtime
// lets a program take over where tasks run, by a hook (swift/Runtime/Concurrency.h).
#include "test-threads.h"

#include <pthread.h>
#include <stdlib.h>

#if __has_attribute(swiftcall)
#define SWIFT_CALL __attribute__((swiftcall))
#else
#error "needs the clang of the Swift toolchain"
#endif

/// A part of a task that is ready, and the executor that it runs on: zeros stand for none.
typedef struct Job Job;
typedef struct {
    void *identity, *implementation;
} Executor;

typedef void (*Enqueue)(Job *) SWIFT_CALL;
extern void (*swift_task_enqueueGlobal_hook)(Job *, Enqueue) SWIFT_CALL;
extern void swift_job_run(Job *, Executor) SWIFT_CALL;

typedef struct Ready {
    Job *job;
    struct Ready *next;
} Ready;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t became_ready = PTHREAD_COND_INITIALIZER;
static Ready *first, **end = &first;
static int thread_count, idle_count, ready_count;

static void *run(void *ignored) {
    (void)ignored;
    for (;;) {
        pthread_mutex_lock(&lock);
        idle_count++;
        while (!first) pthread_cond_wait(&became_ready, &lock);
        idle_count--;
        ready_count--;
        Ready *ready = first;
        first = ready->next;
        if (!first) end = &first;
        pthread_mutex_unlock(&lock);
        Job *job = ready->job;
        free(ready);
        swift_job_run(job, (Executor){0, 0});
    }
    return NULL;
}

static SWIFT_CALL void enqueue(Job *job, Enqueue original) {
    (void)original;
    Ready *ready = malloc(sizeof *ready);
    if (!ready) abort();
    *ready = (Ready){job, NULL};
    pthread_mutex_lock(&lock);
    *end = ready;
    end = &ready->next;
    ready_count++;
    pthread_t thread;
    if (ready_count > idle_count && thread_count < test_threads_count &&
        !pthread_create(&thread, NULL, run, NULL)) {
        thread_count++;
        pthread_detach(thread);
    }
    if (!thread_count) abort();
    pthread_cond_signal(&became_ready);
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void take_over(void) {
    swift_task_enqueueGlobal_hook = enqueue;
}
