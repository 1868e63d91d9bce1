// The rivals that are C libraries: GLib's GMainContext, libuv and libev.

#if RIVALS
    internal import CRivals

    /// GLib: an idle source for each post, a source with a ready time for each timer.
    enum GLib: NativeFunctions {
        static func start() -> OpaquePointer? { unsafe glib_rival_start() }

        static func post(
            _ loop: OpaquePointer, _ function: rival_function, _ context: UnsafeMutableRawPointer?,
            _ index: Int64
        ) { unsafe glib_rival_post(loop, function, context, index) }

        static func stop(_ loop: OpaquePointer) { unsafe glib_rival_stop(loop) }

        static func schedule(
            _ loop: OpaquePointer, _ deadline: Int64, _ function: rival_function,
            _ context: UnsafeMutableRawPointer?, _ index: Int64
        ) -> OpaquePointer? { unsafe glib_rival_schedule(loop, deadline, function, context, index) }

        static func cancel(_ loop: OpaquePointer, _ timer: OpaquePointer) {
            unsafe glib_rival_cancel(loop, timer)
        }
    }

    /// libuv: an own list with `uv_async_send` behind each post, `uv_timer_t`.
    enum UV: NativeFunctions {
        static func start() -> OpaquePointer? { unsafe uv_rival_start() }

        static func post(
            _ loop: OpaquePointer, _ function: rival_function, _ context: UnsafeMutableRawPointer?,
            _ index: Int64
        ) { unsafe uv_rival_post(loop, function, context, index) }

        static func stop(_ loop: OpaquePointer) { unsafe uv_rival_stop(loop) }

        static func schedule(
            _ loop: OpaquePointer, _ deadline: Int64, _ function: rival_function,
            _ context: UnsafeMutableRawPointer?, _ index: Int64
        ) -> OpaquePointer? { unsafe uv_rival_schedule(loop, deadline, function, context, index) }

        static func cancel(_ loop: OpaquePointer, _ timer: OpaquePointer) {
            unsafe uv_rival_cancel(loop, timer)
        }
    }

    /// libev: an own list with `ev_async_send` behind each post, `ev_timer`.
    enum EV: NativeFunctions {
        static func start() -> OpaquePointer? { unsafe ev_rival_start() }

        static func post(
            _ loop: OpaquePointer, _ function: rival_function, _ context: UnsafeMutableRawPointer?,
            _ index: Int64
        ) { unsafe ev_rival_post(loop, function, context, index) }

        static func stop(_ loop: OpaquePointer) { unsafe ev_rival_stop(loop) }

        static func schedule(
            _ loop: OpaquePointer, _ deadline: Int64, _ function: rival_function,
            _ context: UnsafeMutableRawPointer?, _ index: Int64
        ) -> OpaquePointer? { unsafe ev_rival_schedule(loop, deadline, function, context, index) }

        static func cancel(_ loop: OpaquePointer, _ timer: OpaquePointer) {
            unsafe ev_rival_cancel(loop, timer)
        }
    }
#endif
