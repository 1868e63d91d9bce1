// The faults of a configuration, in words for people: each with its path and its place. It must not
// know how the faults are found.

internal import Kernel

/// One fault of a configuration.
package struct ConfigurationFault: Sendable, Equatable, CustomStringConvertible {
    /// Where in the configuration: `threads.images.count`; empty if the fault is the whole file's.
    package let path: String
    /// The fault, and its remedy unless that is obvious.
    package let message: String
    /// Where in the file; nil if the file could not be read.
    package let position: JSON5Position?

    package init(path: String, message: String, position: JSON5Position?) {
        self.path = path
        self.message = message
        self.position = position
    }

    /// `threads.images.count: must be 1…1024, is 0 (line 9, column 31)`.
    ///
    /// Without a path: `line 9, column 31: expected a value, found "}"`.
    package var description: String {
        guard let position else { return path.isEmpty ? message : "\(path): \(message)" }
        return path.isEmpty ? "\(position): \(message)" : "\(path): \(message) (\(position))"
    }
}

/// Why a configuration cannot be used: all of its faults, in the order of the file.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The number of lines shown; `description` counts the other faults.
    package static let shownFaultsMax = 100

    package let fileName: String
    /// At least one.
    package let faults: [ConfigurationFault]

    package init(fileName: String, faults: [ConfigurationFault]) {
        require(!faults.isEmpty, "a configuration error has a fault")
        self.fileName = fileName
        self.faults = faults
    }

    /// One line for each fault, each beginning with the file's name.
    package var description: String {
        var lines = faults.prefix(Self.shownFaultsMax).map { "\(fileName): \($0)" }
        let hiddenCount = faults.count - lines.count
        if hiddenCount > 0 { lines.append("\(fileName): and \(hiddenCount.grouped) more faults") }
        return lines.joined(separator: "\n")
    }
}
