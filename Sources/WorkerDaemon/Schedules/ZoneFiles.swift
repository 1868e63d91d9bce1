// Where the rules of a time zone are: the files that the package tzdata brings.

internal import Jobs
internal import Wording

/// Finds time zones by their names.
enum ZoneFiles {
    /// The zone that applies if none is named; it needs no file.
    static let defaultName = "UTC"
    static let directory = "/usr/share/zoneinfo"

    /// The rules of a zone.
    ///
    /// - Parameter files: asked for the zone's file.
    /// - Blocks: for the disk, for a file of some kilobytes.
    static func rules(
        _ name: String, _ files: FileChecks
    ) throws(ScheduleFault) -> TimeZoneRules {
        if name == defaultName { return .utc }
        let unknown = ScheduleFault(
            "there is no time zone \(quoted(name)), such as Europe/Berlin, in \(directory)")
        guard isName(name) else { throw unknown }
        let path = "\(directory)/\(name)"
        let kind = files.kind(path)
        guard kind == .other || kind == .program else { throw unknown }
        let bytes: [UInt8]
        do throws(FileChecks.Unreadable) {
            bytes = try files.contents(path, TimeZoneRules.fileByteCountMax)
        } catch {
            throw ScheduleFault("\(path) can't be read: \(error.reason)")
        }
        do throws(ScheduleFault) {
            return try TimeZoneRules(file: bytes)
        } catch {
            throw ScheduleFault("\(path) \(error)")
        }
    }

    /// Whether it can be the name of a file below the directory, and of none elsewhere.
    private static func isName(_ name: String) -> Bool {
        guard (1...64).contains(name.utf8.count) else { return false }
        return name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty
                && part.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
    }
}
