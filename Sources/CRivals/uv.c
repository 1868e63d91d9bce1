// libuv: one uv_async_t that wakes the loop for a list of calls, a uv_timer_t for each timer.
#include "list.h"

#include <stdatomic.h>
#include <uv.h>

struct rival_loop {
    uv_loop_t loop;
    uv_async_t async;
    struct call_list list;
    pthread_t thread;
    _Atomic int is_stopped;
};

struct rival_timer {
    uv_timer_t timer;
    rival_function function;
    void *context;
    int64_t index;
};

static void perform(uv_async_t *async) {
    struct rival_loop *loop = async->data;
    int is_stopped = atomic_load(&loop->is_stopped);
    list_perform(&loop->list);
    if (is_stopped) uv_stop(&loop->loop);
}

static void *run(void *argument) {
    struct rival_loop *loop = argument;
    uv_run(&loop->loop, UV_RUN_DEFAULT);
    return NULL;
}

struct rival_loop *uv_rival_start(void) {
    struct rival_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    list_start(&loop->list);
    if (uv_loop_init(&loop->loop) != 0) return NULL;
    uv_async_init(&loop->loop, &loop->async, perform);
    loop->async.data = loop;
    return pthread_create(&loop->thread, NULL, run, loop) == 0 ? loop : NULL;
}

void uv_rival_post(
    struct rival_loop *loop, rival_function function, void *context, int64_t index) {
    list_add(&loop->list, function, context, index);
    uv_async_send(&loop->async);
}

void uv_rival_stop(struct rival_loop *loop) {
    atomic_store(&loop->is_stopped, 1);
    uv_async_send(&loop->async);
    pthread_join(loop->thread, NULL);
    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_run(&loop->loop, UV_RUN_NOWAIT);
    // The caller that scheduled a timer keeps its handle: then the loop's memory stays, too.
    if (uv_loop_close(&loop->loop) == 0) free(loop);
}

static void fire(uv_timer_t *handle) {
    struct rival_timer *timer = handle->data;
    timer->function(timer->context, timer->index);
}

struct rival_timer *uv_rival_schedule(
    struct rival_loop *loop, int64_t deadline, rival_function function, void *context,
    int64_t index) {
    struct rival_timer *timer = malloc(sizeof *timer);
    if (!timer) abort();
    uv_timer_init(&loop->loop, &timer->timer);
    timer->timer.data = timer;
    timer->function = function;
    timer->context = context;
    timer->index = index;
    // Its clock is the monotonic one, in whole milliseconds: rounded up, so that it is not early.
    uint64_t due = (uint64_t)(deadline + 999999) / 1000000;
    uint64_t time = uv_now(&loop->loop);
    uv_timer_start(&timer->timer, fire, due > time ? due - time : 0, 0);
    return timer;
}

// Only stopped: to close and free the handle would cost more, and the loop does it later.
void uv_rival_cancel(struct rival_loop *loop, struct rival_timer *timer) {
    (void)loop;
    uv_timer_stop(&timer->timer);
}
