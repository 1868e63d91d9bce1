// libev: one ev_async that wakes the loop for a list of calls, an ev_timer for each timer.
#include "list.h"

#include <ev.h>
#include <stdatomic.h>

struct rival_loop {
    struct ev_loop *loop;
    ev_async async;
    struct call_list list;
    pthread_t thread;
    _Atomic int is_stopped;
    /// The monotonic clock at the time to which timers are relative, and that time by libev's
    /// clock.
    int64_t base;
    ev_tstamp base_of_loop;
};

struct rival_timer {
    ev_timer timer;
    rival_function function;
    void *context;
    int64_t index;
};

static void perform(struct ev_loop *its, ev_async *async, int events) {
    (void)events;
    struct rival_loop *loop = async->data;
    int is_stopped = atomic_load(&loop->is_stopped);
    list_perform(&loop->list);
    if (is_stopped) ev_break(its, EVBREAK_ALL);
}

static void *run(void *argument) {
    struct rival_loop *loop = argument;
    ev_run(loop->loop, 0);
    return NULL;
}

struct rival_loop *ev_rival_start(void) {
    struct rival_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    list_start(&loop->list);
    loop->loop = ev_loop_new(EVFLAG_AUTO);
    if (!loop->loop) return NULL;
    ev_async_init(&loop->async, perform);
    loop->async.data = loop;
    ev_async_start(loop->loop, &loop->async);
    return pthread_create(&loop->thread, NULL, run, loop) == 0 ? loop : NULL;
}

void ev_rival_post(
    struct rival_loop *loop, rival_function function, void *context, int64_t index) {
    list_add(&loop->list, function, context, index);
    ev_async_send(loop->loop, &loop->async);
}

void ev_rival_stop(struct rival_loop *loop) {
    atomic_store(&loop->is_stopped, 1);
    ev_async_send(loop->loop, &loop->async);
    pthread_join(loop->thread, NULL);
    ev_async_stop(loop->loop, &loop->async);
    ev_loop_destroy(loop->loop);
    free(loop);
}

static void fire(struct ev_loop *its, ev_timer *handle, int events) {
    (void)its;
    (void)events;
    struct rival_timer *timer = handle->data;
    timer->function(timer->context, timer->index);
}

struct rival_timer *ev_rival_schedule(
    struct rival_loop *loop, int64_t deadline, rival_function function, void *context,
    int64_t index) {
    struct rival_timer *timer = malloc(sizeof *timer);
    if (!timer) abort();
    timer->function = function;
    timer->context = context;
    timer->index = index;
    if (ev_now(loop->loop) != loop->base_of_loop) {
        // Read before libev's own reading: so a timer is rather late than early.
        loop->base = now();
        ev_now_update(loop->loop);
        loop->base_of_loop = ev_now(loop->loop);
    }
    ev_timer_init(&timer->timer, fire, (double)(deadline - loop->base) / 1e9, 0.);
    timer->timer.data = timer;
    ev_timer_start(loop->loop, &timer->timer);
    return timer;
}

// Only stopped, not freed.
void ev_rival_cancel(struct rival_loop *loop, struct rival_timer *timer) {
    ev_timer_stop(loop->loop, &timer->timer);
}
