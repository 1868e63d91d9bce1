// A lock around a list of calls: users of libuv and libev put it beside the wake-up that these
// libraries have for other threads.
#pragma once

#include "rivals.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

struct call {
    struct call *next;
    rival_function function;
    void *context;
    int64_t index;
};

struct call_list {
    pthread_mutex_t lock;
    struct call *first;
    struct call **last;
};

static inline void list_start(struct call_list *list) {
    pthread_mutex_init(&list->lock, NULL);
    list->first = NULL;
    list->last = &list->first;
}

static inline void list_add(
    struct call_list *list, rival_function function, void *context, int64_t index) {
    struct call *call = malloc(sizeof *call);
    if (!call) abort();
    *call = (struct call){NULL, function, context, index};
    pthread_mutex_lock(&list->lock);
    *list->last = call;
    list->last = &call->next;
    pthread_mutex_unlock(&list->lock);
}

static inline void list_perform(struct call_list *list) {
    pthread_mutex_lock(&list->lock);
    struct call *call = list->first;
    list->first = NULL;
    list->last = &list->first;
    pthread_mutex_unlock(&list->lock);
    while (call) {
        struct call *next = call->next;
        call->function(call->context, call->index);
        free(call);
        call = next;
    }
}

static inline int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}
