// The version of this package. Programs, commands and scripts take it from here.

/// The release that was built.
package enum Release {
    /// Its version, as in the change log.
    package static let version = "0.2.0"
    /// The day of its manual, as mdoc(7) writes it.
    package static let date = "November 25, 2026"
}
