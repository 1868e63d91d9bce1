// From a file to a checked configuration, or to all of its faults. It only decides the order of the
// steps: `JSON5Reader` reads JSON5, each section is read beside its values.

/// Reads and checks configurations.
package struct ConfigurationReader: Sendable {
    private let files: FileChecks
    private let builtInSelectors: Set<String>?

    /// Makes a reader that asks about files through `files`.
    ///
    /// - Parameter builtInSelectors: what schedules may name beside the configured selectors; nil
    ///   if the program registers handlers later, and schedules are checked then.
    package init(files: FileChecks, builtInSelectors: Set<String>? = nil) {
        self.files = files
        self.builtInSelectors = builtInSelectors
    }

    /// Reads a file and checks all of it.
    ///
    /// - Throws: all faults of the file, or the one reason why it could not be read.
    /// - Thread: any thread.
    /// - Blocks: while the file is read and programs are looked for.
    package func load(path: String) throws(ConfigurationError) -> Configuration {
        try parse(bytes: try contents(of: path), fileName: path)
    }

    /// Checks a file whole without starting with it.
    ///
    /// - Returns: the configuration, and what may have to be mended before the start, such as a
    ///   directory that the service manager makes.
    /// - Throws: all other faults of the file, or the one reason why it could not be read.
    /// - Thread: any thread.
    /// - Blocks: while the file is read and programs are looked for.
    package func check(
        path: String
    ) throws(ConfigurationError) -> (configuration: Configuration, warnings: [ConfigurationFault]) {
        try checked(bytes: try contents(of: path), fileName: path)
    }

    /// Checks the bytes of a file; see `check(path:)`.
    package func check(
        bytes: [UInt8], fileName: String
    ) throws(ConfigurationError) -> [ConfigurationFault] {
        try checked(bytes: bytes, fileName: fileName).warnings
    }

    private func checked(
        bytes: [UInt8], fileName: String
    ) throws(ConfigurationError) -> (configuration: Configuration, warnings: [ConfigurationFault]) {
        let collector = FaultCollector(builtInSelectors: builtInSelectors, isCheck: true)
        let configuration = try parse(bytes: bytes, fileName: fileName, collector)
        return (configuration, collector.warnings)
    }

    private func contents(of path: String) throws(ConfigurationError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(FileChecks.Unreadable) {
            // One byte more than is allowed shows that the file is too large.
            bytes = try files.contents(path, JSON5Reader.byteCountMax + 1)
        } catch {
            let message = "cannot be read: \(error.reason)"
            throw ConfigurationError(
                fileName: path,
                faults: [ConfigurationFault(path: "", message: message, position: nil)])
        }
        return bytes
    }

    /// Checks the bytes of a configuration.
    ///
    /// - Parameter fileName: the file that the faults name.
    /// - Throws: all faults, in the order of the file; a text that is not JSON5 has one.
    /// - Thread: any thread.
    /// - Blocks: while programs are looked for.
    package func parse(
        bytes: [UInt8], fileName: String
    ) throws(ConfigurationError) -> Configuration {
        let collector = FaultCollector(builtInSelectors: builtInSelectors, isCheck: false)
        return try parse(bytes: bytes, fileName: fileName, collector)
    }

    private func parse(
        bytes: [UInt8], fileName: String, _ collector: FaultCollector
    ) throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        do throws(JSON5Fault) {
            let root = try JSON5Reader.read(bytes)
            SectionReader.readRoot(root, into: &configuration, files: files, collector: collector)
        } catch {
            collector.add("", error.message, at: error.position)
        }
        guard collector.faults.isEmpty else {
            throw ConfigurationError(fileName: fileName, faults: collector.faultsInOrder)
        }
        return configuration
    }
}
