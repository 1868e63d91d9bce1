// The limits of a client's commands. Each is checked against a header before memory is taken for
// the bytes that the header announces.

/// The largest command that a parser accepts.
package struct CommandLimits: Sendable, Equatable {
    /// Arguments of one command, its name included.
    package let argumentCountMax: Int

    /// Bytes of one argument.
    package let argumentByteCountMax: Int

    /// Bytes of an oversized argument that are skipped, so that the connection can go on.
    ///
    /// An argument over `argumentByteCountMax` and up to this is thrown away as it arrives, and the
    /// command is reported as `Request.tooLarge`. A larger one is a protocol error. Not above
    /// `argumentByteCountMax` means: never skip.
    package let skippedByteCountMax: Int

    /// Bytes of all arguments of one command together.
    package let commandByteCountMax: Int

    /// Bytes of a command's name.
    ///
    /// A client that announces a longer one does not speak the protocol.
    package let nameByteCountMax: Int

    /// Bytes of an inline command up to its line feed.
    package let inlineByteCountMax: Int

    /// Bytes of memory that an input buffer keeps after a large request.
    package let retainedByteCountMax: Int

    /// Creates limits; the defaults are those documented for the daemon.
    ///
    /// - Parameter commandByteCountMax: by default, twice `argumentByteCountMax`.
    /// - Parameter skippedByteCountMax: by default, eight times `argumentByteCountMax`.
    package init(
        argumentCountMax: Int = 1024,
        argumentByteCountMax: Int = 8 << 20,
        skippedByteCountMax: Int? = nil,
        commandByteCountMax: Int? = nil,
        nameByteCountMax: Int = 64,
        inlineByteCountMax: Int = 64 << 10,
        retainedByteCountMax: Int = 128 << 10
    ) {
        let commandByteCountMax = commandByteCountMax ?? 2 * argumentByteCountMax
        // Offsets within a command are kept in 32 bits, headers included.
        let byteCounts = 1...1 << 30
        precondition((1...1 << 20).contains(argumentCountMax), "1 to 2^20 arguments")
        precondition(byteCounts.contains(argumentByteCountMax), "1 to 2^30 bytes of an argument")
        precondition((1...1 << 31).contains(commandByteCountMax), "1 to 2^31 bytes of a command")
        precondition(byteCounts.contains(inlineByteCountMax), "1 to 2^30 bytes of a line")
        precondition(nameByteCountMax > 0, "nameByteCountMax must be positive")
        self.argumentCountMax = argumentCountMax
        self.argumentByteCountMax = argumentByteCountMax
        self.skippedByteCountMax = skippedByteCountMax ?? 8 * argumentByteCountMax
        self.commandByteCountMax = commandByteCountMax
        self.nameByteCountMax = nameByteCountMax
        self.inlineByteCountMax = inlineByteCountMax
        self.retainedByteCountMax = retainedByteCountMax
    }

    /// The limits of a client that has not given the password: enough for HELLO and AUTH.
    ///
    /// The numbers are those that Redis uses for the same purpose since 6.2.6 (CVE-2021-32675).
    package static let unauthenticated = CommandLimits(
        argumentCountMax: 10, argumentByteCountMax: 16 << 10, skippedByteCountMax: 0,
        commandByteCountMax: 32 << 10)
}
