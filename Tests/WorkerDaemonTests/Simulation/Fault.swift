// The finding of a simulation.

/// A promise that was not kept.
struct SimulationFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
