// Payloads and results as values, by a coder of the user's own: the library brings none, so that a
// program that needs no Foundation links none.

/// Turns values into payloads, and results into values.
///
/// ```swift
/// struct JSON: PayloadCoder {
///     func encode(_ value: some Encodable) throws -> [UInt8] {
///         Array(try JSONEncoder().encode(value))
///     }
///     func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
///         try JSONDecoder().decode(type, from: Data(bytes))
///     }
/// }
/// ```
public protocol PayloadCoder: Sendable {
    /// The bytes of a value.
    ///
    /// - Throws: why there are none; the client passes it on.
    func encode(_ value: some Encodable) throws -> [UInt8]

    /// The value of these bytes.
    ///
    /// - Throws: why they are none; the client passes it on.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}
