// The machine of a measurement: a figure without it is worth nothing.

internal import Glibc
internal import Kernel
internal import Memory

/// The machine, its kernel and toolchain, and its other load.
struct Machine: Codable {
    let cpu: String
    let cpuCount: Int
    let kernel: String
    let toolchain: String
    let isRelease: Bool
    let allocator: String
    let placement: String
    let loadBefore: String
    var loadAfter = ""

    init(placement: String) {
        cpu = Self.cpuModel()
        cpuCount = Int(sysconf(CInt(_SC_NPROCESSORS_ONLN)))
        kernel = Self.line("/proc/sys/kernel/osrelease")
        toolchain = Self.compilerVersion
        #if DEBUG
            isRelease = false
        #else
            isRelease = true
        #endif
        allocator = Allocator.name
        self.placement = placement
        loadBefore = Self.load()
    }

    /// The compiler that made this program; the standard library's own number lacks the last part.
    private static var compilerVersion: String {
        #if compiler(>=6.4)
            "Swift \(_SwiftStdlibVersion.current)"
        #elseif compiler(>=6.3.3)
            "Swift 6.3.3 or later"
        #elseif compiler(>=6.3.2)
            "Swift 6.3.2"
        #elseif compiler(>=6.3.1)
            "Swift 6.3.1"
        #else
            "Swift \(_SwiftStdlibVersion.current)"
        #endif
    }

    /// The load averages of 1, 5 and 15 minutes, and the number of runnable threads.
    static func load() -> String {
        line("/proc/loadavg").split(separator: " ").prefix(4).joined(separator: " ")
    }

    private static func cpuModel() -> String {
        let lines = text("/proc/cpuinfo").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("model name") }) else { return "?" }
        return String(line.drop { $0 != ":" }.dropFirst(2))
    }

    private static func line(_ path: String) -> String {
        String(text(path).prefix { $0 != "\n" })
    }

    private static func text(_ path: String) -> String {
        guard let bytes = try? File.read(path, atMost: 1 << 20) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    var description: String {
        """
        \(cpu), \(cpuCount) cpus · Linux \(kernel) · \(toolchain)\
        \(isRelease ? "" : " · DEBUG BUILD: the figures mean nothing")
        memory: \(allocator) · placement: \(placement) · load before: \(loadBefore)
        """
    }
}
