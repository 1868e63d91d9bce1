// Numbers of things, as texts for people say them.

/// So many of something, in the plural unless it is one: `1 job`, `2 jobs`.
///
/// - Parameter thing: a word whose plural has an s behind it.
package func counted(_ count: Int, _ thing: String) -> String {
    "\(count) \(thing)\(count == 1 ? "" : "s")"
}
