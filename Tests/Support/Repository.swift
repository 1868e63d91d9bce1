// The files of this package, and the programs that were built with the tests.

internal import Glibc
package import Kernel

/// The bytes of a file of the package, by its path in it.
package func repositoryFile(_ path: String) throws(SystemError) -> [UInt8] {
    try File.read("\(repositoryDirectory)/\(path)", atMost: 16 << 20)
}

/// The package's directory.
package let repositoryDirectory =
    "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

/// The directory of the running test bundle, which holds the package's programs as well.
package func productsDirectory() throws(SystemError) -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room -> Int in
        guard let base = room.baseAddress else { return -1 }
        return unsafe base.withMemoryRebound(to: CChar.self, capacity: room.count) {
            unsafe readlink("/proc/self/exe", $0, room.count)
        }
    }
    guard count > 0 else { throw SystemError.last("readlink /proc/self/exe") }
    let path = String(decoding: buffer[..<count], as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
}
