// The tables of workerd 0.1, whose files the steps of the present schema bring up to date.

import SQLiteJobs
import Support

extension Schema {
    /// The format that is brought up to date, as workerd 0.1 left it.
    static let oldest = Schema(creation: oldestStatements, version: 9, steps: [])

    /// This schema with rows in an empty database.
    func with(_ statements: [String]) -> Schema {
        Schema(creation: creation + statements, version: version, steps: steps)
    }

    /// This schema with one more step behind it.
    func followed(by step: [String]) -> Schema {
        Schema(
            creation: creation + step, version: version + 1,
            steps: steps + [Step(from: version, step)])
    }

    /// The tables and indexes of the dump of a real file, without its rows.
    private static let oldestStatements: [String] = {
        guard let dump = try? repositoryFile("Tests/Fixtures/store-0.1.sql") else {
            fatalError("the dump of a store of workerd 0.1 is missing")
        }
        let statements = String(decoding: dump, as: UTF8.self).split(separator: ";\n")
        return statements.filter { $0.hasPrefix("CREATE ") }.map(String.init)
            + ["INSERT INTO settings (name, value) VALUES ('next_id', 1)"]
    }()
}
