// The faults of a users file, each with its place.

import Support
import Testing
import WorkerDaemon

@Suite struct `A users file` {
    private static let digest = String(repeating: "0a", count: 32)

    private func faults(_ text: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try UsersFile(bytes: Array(text.utf8), fileName: "users")
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }

    @Test func `has users with their rights`() throws {
        let text = """
            // the rights of users
            { users: {
                ann: { roles: ["observe", 'operate'], payloads: true, threads: ["mail*"],
                       secrets: ["\(Self.digest)", "\(Self.digest.replacing("0", with: "F"))"] },
                bob: { roles: ["submit"], secrets: [], },
            } }
            """
        let users = try UsersFile(bytes: Array(text.utf8), fileName: "users").users
        #expect(users.map(\.name) == ["ann", "bob"])
        #expect(users.map(\.roles) == [[.observe, .operate], [.submit]])
        #expect(users.map(\.seesPayloads) == [true, false])
        #expect(users.map { $0.digests.count } == [2, 0])
        #expect(users[0].digests[0].hexadecimal == Self.digest)
    }

    @Test(arguments: [
        ("{}", "users: is missing, such as users: {} (line 1, column 1)"),
        ("{ users: [] }", "users: must be a section such as { name: { … } }, is a list"),
        ("{ users: { ann: {} } }", "users.ann.roles: is missing, such as [\"observe\"]"),
        ("{ users: { ann: { roles: [] } } }", "users.ann.roles: must be 1…4 roles, are 0"),
        ("{ users: { ann: { roles: 'observe' } } }", "users.ann.roles: must be a list of roles"),
        ("{ users: { ann: { roles: [1] } } }", "users.ann.roles[0]: must be a string"),
        (
            "{ users: { ann: { roles: ['work', 'work'] } } }",
            "users.ann.roles: has a role twice (line 1, column 26)"
        ),
        (
            "{ users: { ann: { roles: ['work'] }, ann: { roles: ['work'] } } }",
            "users.ann: is given twice, first at line 1, column 12"
        ),
        (
            "{ users: { ann: { roles: ['work'], thread: ['x'] } } }",
            "users.ann.thread: unknown key, did you mean \"threads\"?"
        ),
        (
            "{ users: { ann: { roles: ['work'], secret: 'x' } } }",
            "users.ann.secret: unknown key, did you mean \"secrets\"?"
        ),
        ("{ users: { 'a b': { roles: ['work'] } } }", "a name is 1…64 of the characters"),
        (
            "{ users: { default: { roles: ['work'] } } }",
            "users.default: is the user of passwordFile"
        ),
        (
            "{ users: { ann: { roles: ['work'], threads: ['a b'] } } }",
            "users.ann.threads[0]: must be 1…64 of the characters"
        ),
        (
            "{ users: { ann: { roles: ['work'], threads: [] } } }",
            "users.ann.threads: must be 1…64 patterns, are 0"
        ),
        (
            "{ users: { ann: { roles: ['work'], secrets: ['secret'] } } }",
            "users.ann.secrets[0]: must be the SHA-256 digest of a secret"
        ),
        (
            "{ users: { ann: { roles: ['work'], payloads: 1 } } }",
            "users.ann.payloads: must be true or false, is a number"
        ),
        ("{ users: {}, limits: {} }", "limits: unknown key, known are \"users\""),
        ("{ users: {", "line 1, column 11: expected a key"),
    ])
    func `is refused with a fault`(text: String, expected: String) {
        let found = faults(text)
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test func `gives a secret to one user`() {
        let section = "{ roles: ['work'], secrets: ['\(Self.digest)'] }"
        let found = faults("{ users: { ann: \(section), bob: \(section) } }")
        #expect(found.count == 1 && found[0].contains("ann and bob have the same secret"))
    }

    @Test func `takes as many users as may be`() {
        func text(_ count: Int) -> String {
            let users = (0..<count).map { "u\($0): { roles: ['work'] }" }.joined(separator: ",")
            return "{ users: { \(users) } }"
        }
        #expect(faults(text(1_000)) == [])
        #expect(faults(text(1_001)).first?.contains("must be at most 1000, are 1001") == true)
    }

    @Test func `knows secrets by their digests`() {
        // FIPS 180-2, appendix B.1.
        #expect(
            SecretDigest(of: Array("abc".utf8)).hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let digest = SecretDigest(hexadecimal: Self.digest)
        #expect(digest?.hexadecimal == Self.digest)
        for wrong in ["", "0", Self.digest + "0", String(Self.digest.dropLast()) + "g"] {
            #expect(SecretDigest(hexadecimal: wrong) == nil)
        }
        let other = SecretDigest(of: Array("abd".utf8))
        #expect(!other.isSame(as: SecretDigest(of: Array("abc".utf8))))
        #expect(other.isSame(as: SecretDigest(of: Array("abd".utf8))))
    }
}
