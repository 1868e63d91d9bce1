// GLib: an idle source for each call, a source with a ready time for each timer.
#include "rivals.h"

#include <glib.h>
#include <stdlib.h>

struct rival_loop {
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
};

struct call {
    rival_function function;
    void *context;
    int64_t index;
};

struct rival_timer {
    GSource source;
    struct call call;
};

static gboolean perform(gpointer data) {
    struct call *call = data;
    call->function(call->context, call->index);
    return G_SOURCE_REMOVE;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)callback;
    (void)data;
    struct rival_timer *timer = (struct rival_timer *)source;
    timer->call.function(timer->call.context, timer->call.index);
    return G_SOURCE_REMOVE;
}

static GSourceFuncs timer_functions = {.dispatch = dispatch};

static gpointer run(gpointer data) {
    struct rival_loop *loop = data;
    g_main_context_push_thread_default(loop->context);
    g_main_loop_run(loop->loop);
    g_main_context_pop_thread_default(loop->context);
    return NULL;
}

struct rival_loop *glib_rival_start(void) {
    struct rival_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->context = g_main_context_new();
    loop->loop = g_main_loop_new(loop->context, FALSE);
    loop->thread = g_thread_new("glib", run, loop);
    return loop;
}

void glib_rival_post(
    struct rival_loop *loop, rival_function function, void *context, int64_t index) {
    struct call *call = malloc(sizeof *call);
    if (!call) abort();
    *call = (struct call){function, context, index};
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, perform, call, free);
    g_source_attach(source, loop->context);
    g_source_unref(source);
}

static void quit(void *context, int64_t index) {
    (void)index;
    g_main_loop_quit(context);
}

void glib_rival_stop(struct rival_loop *loop) {
    glib_rival_post(loop, quit, loop->loop, 0);
    g_thread_join(loop->thread);
    g_main_loop_unref(loop->loop);
    g_main_context_unref(loop->context);
    free(loop);
}

struct rival_timer *glib_rival_schedule(
    struct rival_loop *loop, int64_t deadline, rival_function function, void *context,
    int64_t index) {
    GSource *source = g_source_new(&timer_functions, sizeof(struct rival_timer));
    struct rival_timer *timer = (struct rival_timer *)source;
    timer->call = (struct call){function, context, index};
    // Its clock is the monotonic one, in microseconds.
    g_source_set_ready_time(source, (deadline + 999) / 1000);
    g_source_attach(source, loop->context);
    return timer;
}

void glib_rival_cancel(struct rival_loop *loop, struct rival_timer *timer) {
    (void)loop;
    g_source_destroy(&timer->source);
    g_source_unref(&timer->source);
}
