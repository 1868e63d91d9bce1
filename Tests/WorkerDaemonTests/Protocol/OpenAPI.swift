// The description of the paths of HTTP, and whether an answer is as it says. Reads the part of
// JSON Schema that the description uses.

import Support
import WorkerDaemon

/// `Documents/openapi.json`.
struct OpenAPI {
    let root: JSONValue

    init() throws {
        root = try JSONReader.read(
            try repositoryFile("Documents/openapi.json"), valueCountMax: 100_000)
    }

    /// The operations, as `GET /api/jobs`.
    var operations: Set<String> {
        var found: Set<String> = []
        for path in root["paths"]?.members ?? [] {
            for method in path.value.members {
                found.insert("\(method.key.uppercased()) \(path.key)")
            }
        }
        return found
    }

    /// The operations whose responses go on.
    var streams: Set<String> {
        operations.filter { operation in
            let parts = operation.split(separator: " ").map(String.init)
            let responses = root["paths"]?[parts[1]]?[parts[0].lowercased()]?["responses"]
            return responses?["200"]?["content"]?["text/event-stream"] != nil
        }
    }

    /// The faults of a response to a request of an operation.
    func faults(
        _ operation: String, _ response: HTTPTestResponse
    ) throws -> [String] {
        let parts = operation.split(separator: " ").map(String.init)
        let responses = root["paths"]?[parts[1]]?[parts[0].lowercased()]?["responses"]
        let found = responses?["\(response.status)"] ?? responses?["default"]
        guard let found else { return ["no response \(response.status)"] }
        let content = resolved(found)["content"]
        if let schema = content?["application/json"]?["schema"] {
            return faults(of: try response.json(), schema, at: "body")
        }
        let isText = response.fields["content-type"]?.hasPrefix("text/plain") == true
        return content?["text/plain"] != nil && isText ? [] : ["another kind of content"]
    }

    /// The faults of the body of a request.
    func faults(_ operation: String, request: String) throws -> [String] {
        let parts = operation.split(separator: " ").map(String.init)
        let schema = root["paths"]?[parts[1]]?[parts[0].lowercased()]?["requestBody"]?["content"]?[
            "application/json"]?["schema"]
        guard let schema else { return ["no body is described"] }
        return faults(of: try JSONReader.read(Array(request.utf8)), schema, at: "request")
    }

    private func resolved(_ value: JSONValue) -> JSONValue {
        guard case .string(let reference)? = value["$ref"] else { return value }
        var found = root
        for part in reference.split(separator: "/").dropFirst() {
            found = found[String(part)] ?? .null
        }
        return found
    }

    private func faults(of value: JSONValue, _ schema: JSONValue, at place: String) -> [String] {
        let schema = resolved(schema)
        if case .array(let choices)? = schema["anyOf"] {
            let all = choices.map { faults(of: value, $0, at: place) }
            return all.contains([]) ? [] : ["\(place): none of \(choices.count): \(all)"]
        }
        var found: [String] = []
        if let type = schema["type"] {
            let types = type.strings
            if !types.contains(where: value.isOf) { found.append("\(place): not \(types)") }
        }
        if let words = schema["enum"]?.strings, case .string(let word) = value,
            !words.contains(word)
        {
            found.append("\(place): \(word) is none of \(words)")
        }
        if case .array(let elements) = value, let items = schema["items"] {
            for (index, element) in elements.enumerated() {
                found += faults(of: element, items, at: "\(place)[\(index)]")
            }
        }
        guard case .object(let members) = value, let properties = schema["properties"] else {
            return found
        }
        for key in schema["required"]?.strings ?? [] where value[key] == nil {
            found.append("\(place): \(key) is missing")
        }
        for member in members {
            guard let property = properties[member.key] else {
                if schema["additionalProperties"] == .boolean(false) {
                    found.append("\(place): \(member.key) is not described")
                }
                continue
            }
            found += faults(of: member.value, property, at: "\(place).\(member.key)")
        }
        return found
    }
}

extension JSONValue {
    fileprivate var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// A string, or the strings of a list.
    fileprivate var strings: [String] {
        switch self {
        case .string(let text): [text]
        case .array(let values): values.flatMap(\.strings)
        default: []
        }
    }

    fileprivate func isOf(_ type: String) -> Bool {
        switch (self, type) {
        case (.null, "null"), (.boolean, "boolean"), (.string, "string"), (.array, "array"),
            (.object, "object"), (.number, "number"):
            true
        case (.number(let written), "integer"): Int(written) != nil
        default: false
        }
    }
}
