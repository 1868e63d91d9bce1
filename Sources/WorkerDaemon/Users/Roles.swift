// The roles of users. Each command belongs to one, or needs none.

/// The rights of a user to act.
package struct Roles: OptionSet, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UInt8

    /// Sees jobs, threads and figures.
    package static let observe = Roles(rawValue: 1)
    /// Hands in jobs, and takes them back.
    package static let submit = Roles(rawValue: 2)
    /// Takes jobs as a worker and ends them.
    package static let work = Roles(rawValue: 4)
    /// Steers threads, failed jobs and the daemon.
    package static let operate = Roles(rawValue: 8)

    package static let all: Roles = [.observe, .submit, .work, .operate]

    private static let named: [(name: String, role: Roles)] = [
        ("observe", .observe), ("submit", .submit), ("work", .work), ("operate", .operate),
    ]

    /// The names of all roles.
    package static var allNames: [String] { named.map(\.name) }

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The role of a name; nil if there is none.
    package init?(named name: String) {
        guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
        self = found.role
    }

    /// The names of these roles.
    package var names: [String] { Self.named.filter { contains($0.role) }.map(\.name) }

    /// `observe or submit`.
    package var description: String { names.joined(separator: " or ") }
}
