// A rival: GLib's GMainContext.

#if RIVALS
    internal import CRivals

    /// An idle source for each post, a source with a ready time for each timer.
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
#endif
