// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every target: Swift 6 mode, warnings are errors, unsafe code is marked.
let rules: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// The same but for memory safety: what CoreFoundation hands back to a callout is a raw pointer.
let rulesOfTheReferee: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// Whether the programs allocate with mimalloc.
///
/// `WORKERD_MALLOC=system swift build` makes them without, as sanitizers want it. Libraries never
/// choose an allocator.
let hasMimalloc = Context.environment["WORKERD_MALLOC"] != "system"

/// Whether the rivals of `workbench` that Debian has are compiled: GLib, libuv and libev.
///
/// `WORKERD_RIVALS=1 swift build` does, and `Scripts/bench` sets it. A build without needs none of
/// them.
let hasRivals = Context.environment["WORKERD_RIVALS"] == "1"

/// The part of the package that is built; nil for all.
///
/// `WORKERD_PART=referee swift build --build-tests` builds the referee and what it needs;
/// `Scripts/referee --mutants` does so for each mutant. With `fuzz`, it is the program of
/// `Scripts/fuzz`, whose main function is in the library that it is linked with.
let part = Context.environment["WORKERD_PART"]

let mimalloc: [SwiftSetting] = hasMimalloc ? [.define("MIMALLOC")] : []

/// A target of this package; `may` lists what it may import, and an arrow only ever points down
/// the list of targets below (`Config/imports.txt` holds the same picture for `Scripts/lint`).
func target(_ name: String, may: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: may, swiftSettings: rules)
}

func tests(_ name: String, may: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: may, swiftSettings: rules)
}

func program(_ name: String, may: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: may, swiftSettings: rules)
}

/// A user's rules; some see members of what they import themselves only.
let rulesOfUsers: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Samples of the documentation; they compile as a user's code does, without this package's rules
/// and with what is public only.
func snippet(_ name: String, may: [Target.Dependency]) -> Target {
    .executableTarget(
        name: "Snippet\(name)", dependencies: may, path: "Tests/Snippets/\(name)",
        packageAccess: false, swiftSettings: rulesOfUsers)
}

/// The same for tests that a user would write.
func snippetTests(_ name: String, may: [Target.Dependency]) -> Target {
    .testTarget(
        name: "Snippet\(name)", dependencies: may, path: "Tests/Snippets/\(name)",
        packageAccess: false, swiftSettings: rulesOfUsers)
}

/// A program that a test runs because the test runner can't be it.
///
/// One with a main thread of its own, say, or one that hangs. It may import what it is compared
/// with.
func testProgram(_ name: String, may more: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: "Program\(name)",
        dependencies: ["WorkerThreads", "RunLoops", "RunLoopsTesting", "Kernel", "Support"]
            + more,
        path: "Tests/Programs/\(name)", swiftSettings: [.swiftLanguageMode(.v6)])
}

/// The rivals that are no Swift: their libraries, and the loops that are made of them.
let rivals: [Target] =
    hasRivals
    ? [
        .systemLibrary(
            name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(
            name: "CRivals", dependencies: ["CGLib"],
            linkerSettings: [.linkedLibrary("uv"), .linkedLibrary("ev")]),
    ] : []

let package = Package(
    name: "workerd",
    products: [
        .library(name: "RunLoops", targets: ["RunLoops"]),
        .library(name: "WorkerThreads", targets: ["RunLoops", "WorkerThreads"]),
        .library(name: "RunLoopsTesting", targets: ["RunLoopsTesting"]),
        .library(name: "WorkerDaemon", targets: ["WorkerDaemon"]),
        .library(name: "WorkerClient", targets: ["WorkerClient"]),
        .executable(name: "workerd", targets: ["workerd"]),
        .executable(name: "workerctl", targets: ["workerctl"]),
    ],
    targets: [
        // The kernel's door and the pure parts.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMimalloc", providers: [.apt(["libmimalloc-dev"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPostgreSQL", providers: [.apt(["libpq-dev"])]),
        target("Kernel", may: ["CLinux"]),
        target("Structures"),
        target("Wording"),
        target("TLS", may: ["Kernel", "COpenSSL"]),

        // The library: run loops, and threads that live in one.
        target("RunLoops", may: ["Kernel", "Structures"]),
        target("WorkerThreads", may: ["RunLoops", "Kernel", "Structures"]),

        // The tools with which users test their threads, and we ours.
        target("RunLoopsTesting", may: ["WorkerThreads", "RunLoops", "Kernel"]),

        // The daemon: the wire, the job's life, the service.
        target("RESP"),
        target("HTTP"),
        .target(name: "CPage", exclude: ["Assets"]),
        .target(
            name: "CGatheredLog", dependencies: ["CSQLite"],
            linkerSettings: [.linkedLibrary("sqlite3")]),
        target("Jobs", may: ["Structures", "Wording"]),
        target(
            "Journals",
            may: ["WorkerThreads", "RunLoops", "Kernel", "Structures", "Jobs", "Wording"]),
        target(
            "SQLiteJobs",
            may: [
                "WorkerThreads", "RunLoops", "Kernel", "Structures", "Jobs", "Journals", "Wording",
                "CSQLite", "CGatheredLog",
            ]),
        target(
            "PostgreSQLJobs",
            may: [
                "WorkerThreads", "RunLoops", "Kernel", "Structures", "Jobs", "Journals", "Wording",
                "CPostgreSQL",
            ]),
        target(
            "WorkerDaemon",
            may: [
                "WorkerThreads", "RunLoops", "Kernel", "Structures", "RESP", "HTTP", "Jobs",
                "SQLiteJobs", "PostgreSQLJobs", "TLS", "COpenSSL", "CPage", "Wording",
            ]),
        target(
            "WorkerClient",
            may: ["RESP", "TLS", "WorkerThreads", "RunLoops", "Kernel", "Structures"]),

        // Entry points, and the allocator that they choose.
        .target(
            name: "Memory", dependencies: hasMimalloc ? ["CMimalloc"] : [],
            swiftSettings: rules + mimalloc),
        program("workerd", may: ["WorkerDaemon", "Memory"]),
        program(
            "workerctl",
            may: [
                "WorkerClient", "WorkerDaemon", "WorkerThreads", "RunLoops", "Kernel", "Wording",
            ]),
        .target(name: "CMeasure", dependencies: ["CSQLite", "CGatheredLog"]),
        .executableTarget(
            name: "workbench",
            // Structures only for its inlined code: a change there compiles workbench anew.
            dependencies: [
                "WorkerThreads", "RunLoops", "Kernel", "Structures", "RESP", "Memory", "CMeasure",
            ]
                + (hasRivals ? ["CRivals"] : []),
            swiftSettings: rules + (hasRivals ? [.define("RIVALS")] : [])),

        // The samples of the README and the documentation, which a test compares with them and
        // runs.
        snippet("Greeter", may: ["WorkerDaemon"]),
        snippet("OneImport", may: ["WorkerThreads"]),
        snippet("Pool", may: ["WorkerThreads"]),
        snippet("LedgerActor", may: ["WorkerThreads"]),
        snippet("Articles", may: ["WorkerThreads", "RunLoops"]),
        snippet("Services", may: ["WorkerDaemon", "WorkerClient"]),
        snippetTests("UserTests", may: ["RunLoopsTesting", "WorkerThreads", "RunLoops"]),

        // The programs that tests run.
        testProgram("MainQueue"),
        testProgram("Callouts"),
        testProgram("Descriptors"),
        testProgram("Ledger", may: ["WorkerDaemon"]),
        testProgram("Obedient", may: ["WorkerDaemon"]),

        // Proof.
        .target(
            name: "StoreTwin", dependencies: ["Jobs", "Kernel"], path: "Tests/StoreTwin",
            swiftSettings: rules),
        .target(
            name: "Support",
            dependencies: ["RunLoops", "RESP", "HTTP", "Kernel", "Structures", "CTestThreads"],
            path: "Tests/Support",
            swiftSettings: rules),
        .target(
            name: "PostgreSQLServer", dependencies: ["Kernel", "Support"],
            path: "Tests/PostgreSQLServer", swiftSettings: rules),
        .target(name: "CFaults", dependencies: ["CSQLite"], path: "Tests/CFaults"),
        .target(name: "CRefusals", path: "Tests/CRefusals"),
        .target(name: "CTestThreads", path: "Tests/CTestThreads"),
        tests("KernelTests", may: ["Kernel", "RunLoopsTesting", "Support", "CRefusals"]),
        tests("StructuresTests", may: ["Structures", "Kernel", "Support"]),
        tests("WordingTests", may: ["Wording"]),
        tests("RunLoopsTests", may: ["RunLoops", "RunLoopsTesting", "Kernel", "Support"]),
        .testTarget(
            name: "RefereeTests",
            dependencies: ["RunLoops", "RunLoopsTesting", "Kernel", "Support"],
            swiftSettings: rulesOfTheReferee),
        tests(
            "WorkerThreadsTests",
            may: ["WorkerThreads", "RunLoops", "RunLoopsTesting", "Kernel", "Support"]),
        tests(
            "RunLoopsTestingTests",
            may: ["RunLoopsTesting", "WorkerThreads", "RunLoops", "Kernel", "Support"]),
        tests("DocumentationTests", may: ["Kernel", "Wording", "Support"]),
        tests("RESPTests", may: ["RESP", "Support"]),
        tests("TLSTests", may: ["TLS", "Kernel", "Support"]),
        tests("HTTPTests", may: ["HTTP", "Support"]),
        tests(
            "JobStoreTests",
            may: [
                "Jobs", "SQLiteJobs", "PostgreSQLJobs", "PostgreSQLServer", "StoreTwin", "Kernel",
                "Support",
            ]),
        .testTarget(
            name: "JobsTests",
            dependencies: ["Jobs", "Structures", "StoreTwin", "Kernel", "Support"],
            exclude: ["Histories"], swiftSettings: rules),
        tests(
            "SQLiteJobsTests",
            may: ["SQLiteJobs", "Journals", "Jobs", "Kernel", "Support", "CFaults", "CSQLite"]),
        .testTarget(
            name: "WorkerDaemonTests",
            dependencies: [
                "WorkerDaemon", "WorkerClient", "WorkerThreads", "RunLoops", "RunLoopsTesting",
                "RESP",
                "Jobs", "SQLiteJobs", "PostgreSQLServer", "StoreTwin", "TLS", "Kernel", "Wording",
                "Support",
            ],
            swiftSettings: rules + mimalloc),
        .target(
            name: "Fuzzing", dependencies: ["RESP", "HTTP", "Jobs", "WorkerDaemon", "Support"],
            path: "Tests/Fuzzing", swiftSettings: rules),
        .testTarget(
            name: "FuzzingTests", dependencies: ["Fuzzing", "Kernel", "Support"],
            exclude: ["Corpora"], swiftSettings: rules),
        tests(
            "WorkerClientTests",
            may: [
                "WorkerClient", "WorkerDaemon", "WorkerThreads", "RESP", "Kernel", "Support",
            ]),
    ] + rivals
)

/// The target of a part of the package, and all that it needs.
func targets(neededBy name: String, of all: [Target]) -> [Target] {
    var needed: Set<String> = []
    var left = [name]
    while let next = left.popLast() {
        guard needed.insert(next).inserted else { continue }
        for dependency in all.first(where: { $0.name == next })?.dependencies ?? [] {
            if case .byNameItem(let name, _) = dependency { left.append(name) }
        }
    }
    return all.filter { needed.contains($0.name) }
}
if let part {
    let name = part == "fuzz" ? "Fuzzing" : "RefereeTests"
    package.targets = targets(neededBy: name, of: package.targets)
    package.products = []
}
if part == "fuzz" {
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/CFuzzer"),
        .executableTarget(
            name: "ProgramFuzz", dependencies: ["Fuzzing", "CFuzzer"], path: "Tests/Programs/Fuzz",
            swiftSettings: rules),
    ]
}
