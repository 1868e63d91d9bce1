// Numbers of things, in words for people.

/// A number of things, in the plural unless it is one: `1 job`, `2 jobs`.
///
/// - Parameter thing: a word whose plural is formed by adding an s.
package func counted(_ count: Int, _ thing: String) -> String {
    "\(count) \(thing)\(count == 1 ? "" : "s")"
}
