// The samples of comments on the client. They are built, and the client's own tests run such calls.

import Foundation
import WorkerClient

@main enum Services {
    static func main() { print("these samples are built only") }
}

func book() throws {
    // sample: client
    let client = try WorkerClient(.unix("/run/workerd/workerd.sock"))
    let id = try client.perform(onThread: "ledger", selector: "book", payload: Array("42".utf8))
    let receipt = try client.result(of: id, wait: .forever)
    // end
    print(receipt)
}

func commands(_ client: WorkerClient) throws {
    // sample: command
    let names = try client.command(["COMMAND", "LIST"])
    // end
    print(names)
}

func thumbnails(_ a: [UInt8], _ b: [UInt8]) async throws {
    // sample: async-client
    let client = try await AsyncWorkerClient.connect(to: .unix("/run/workerd/workerd.sock"))
    async let small = client.performAndWait(onThread: "images", selector: "thumbnail", payload: a)
    async let other = client.performAndWait(onThread: "images", selector: "thumbnail", payload: b)
    let pictures = try await [small, other]
    client.close()
    // end
    print(pictures.count)
}

func look(_ client: AsyncWorkerClient, _ id: UInt64) async throws {
    // sample: async-command
    let names = try await client.command(["COMMAND", "LIST"])
    // end
    print(names)

    // sample: observe
    for try await news in client.observe(id) {
        print(news.state, news.progress ?? 0)
    }
    // end
}

func serve() async throws {
    // sample: serve
    let client = try WorkerClient(.unix("/run/workerd/workerd.sock"))
    try await client.serve("resize", as: "resizer-1") { job in
        guard !job.payload.isEmpty else {
            throw ServedJobFailure("an empty picture", next: .final)
        }
        try await job.report(0.5, "half of it")
        return Array(job.payload.prefix(job.payload.count / 2))
    }
    // end
}

// sample: payload-coder
struct JSON: PayloadCoder {
    func encode(_ value: some Encodable) throws -> [UInt8] {
        Array(try JSONEncoder().encode(value))
    }
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
// end
