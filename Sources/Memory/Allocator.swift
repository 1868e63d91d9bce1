// The allocator of this process: mimalloc, linked into the programs of this package because memory
// that one thread allocates and another frees costs a fraction of what it does with glibc's; or the
// system's, if WORKERD_MALLOC=system was set for the build. Programs only: a library must not
// choose for its users.

#if MIMALLOC
    internal import CMimalloc
#endif
internal import Glibc

/// The allocator behind `malloc`, and so behind every Swift object.
package enum Allocator {
    /// Keeps the linker from leaving out a library that no code refers to.
    ///
    /// Its `malloc` and `free` are found by their names when the program is loaded; for the linker
    /// that is no reference to the library. Every program's entry point calls this.
    ///
    /// - Thread: any.
    package static func link() {
        #if MIMALLOC
            precondition(mi_version() > 0, "mimalloc has no version")
        #endif
    }

    /// Whether a new block of `malloc` lies in mimalloc's memory: a test of what happens, not of
    /// what was linked.
    ///
    /// - Thread: any.
    package static var isMimalloc: Bool {
        #if MIMALLOC
            guard let block = unsafe malloc(64) else { return false }
            defer { unsafe free(block) }
            return unsafe mi_is_in_heap_region(block)
        #else
            return false
        #endif
    }

    /// The name of the allocator in use: `mimalloc 2.0.9`, or `the system's malloc`.
    ///
    /// - Thread: any.
    package static var name: String {
        #if MIMALLOC
            if isMimalloc {
                let version = mi_version()
                return "mimalloc \(version / 100).\(version / 10 % 10).\(version % 10)"
            }
        #endif
        return "the system's malloc"
    }
}
