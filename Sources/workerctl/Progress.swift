// How far a job is, for people.

enum Progress {
    /// `40 % converting`; nil if neither is known.
    static func text(_ fraction: Double?, _ text: String?) -> String? {
        let percentage = fraction.map { "\(Int(($0 * 100).rounded(.down))) %" }
        let parts = [percentage, text].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
