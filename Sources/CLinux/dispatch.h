// The functions that libdispatch exports for run loops that serve its main queue, and that its
// headers do not declare. No logic lives here.
//
// Weak, because a program need not have libdispatch: then the addresses are null. A lookup with
// dlsym would find nothing in a statically linked program, which exports no names.
#pragma once

#include <stddef.h>

extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

/// Whether the program has libdispatch.
static inline int clinux_has_main_queue(void) {
    return _dispatch_get_main_queue_handle_4CF != NULL;
}

/// The eventfd that is readable when the main queue has work; -1 without libdispatch.
static inline int clinux_main_queue_descriptor(void) {
    return _dispatch_get_main_queue_handle_4CF ? _dispatch_get_main_queue_handle_4CF() : -1;
}

/// Whether the main thread has ended, in dispatch_main or by itself.
///
/// Any thread serves the main queue then, which has no eventfd any more.
static inline int clinux_main_queue_is_left(void) {
    return _dispatch_get_main_queue_handle_4CF && _dispatch_get_main_queue_handle_4CF() < 0;
}

/// Runs the work of the main queue; on the main thread.
static inline void clinux_drain_main_queue(void) {
    if (_dispatch_main_queue_callback_4CF) _dispatch_main_queue_callback_4CF(NULL);
}
