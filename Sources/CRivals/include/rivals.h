// Loops of other libraries on threads of their own, all behind the same five functions. Compiled
// with WORKERD_RIVALS=1 only.
#pragma once

#include <stdint.h>

/// A function that is called on a loop's thread.
typedef void (*rival_function)(void *context, int64_t index);

struct rival_loop;
struct rival_timer;

/// start: a thread that runs its loop, or NULL.
/// post: from any thread; the function is called on the loop's thread, in order.
/// stop: waits for the thread; earlier posts are done.
/// schedule: on the loop's thread; the function is called once the monotonic clock has reached the
/// deadline. cancel: on the loop's thread, at most once, not after the call.
#define RIVAL_LOOP(name)                                                                     \
    struct rival_loop *name##_start(void);                                                   \
    void name##_post(                                                                        \
        struct rival_loop *loop, rival_function function, void *context, int64_t index);     \
    void name##_stop(struct rival_loop *loop);                                               \
    struct rival_timer *name##_schedule(                                                     \
        struct rival_loop *loop, int64_t deadline, rival_function function, void *context,   \
        int64_t index);                                                                      \
    void name##_cancel(struct rival_loop *loop, struct rival_timer *timer)

RIVAL_LOOP(glib_rival);
RIVAL_LOOP(uv_rival);
RIVAL_LOOP(ev_rival);
