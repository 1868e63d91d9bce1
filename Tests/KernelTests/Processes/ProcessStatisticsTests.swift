// Proves the statistics of this process; in a process of its own where other tests would disturb.

import Glibc
import Kernel
import Support
import Testing

@Suite struct ProcessStatisticsTests {
    @Test func `time spent computing is counted`() throws {
        let before = try ProcessStatistics.cpuNanoseconds()
        // Asking is computing too, and some of it is enough; the bound is far.
        var after = before
        var turn = 0
        while after == before && turn < 10_000_000 {
            after = try ProcessStatistics.cpuNanoseconds()
            turn += 1
        }
        #expect(after > before)
    }

    @Test func `memory that is touched is counted`() async {
        await #expect(processExitsWith: .success) {
            let before = try ProcessStatistics.residentBytes()
            let bytes = [UInt8](repeating: 1, count: 64 << 20)
            let after = try ProcessStatistics.residentBytes()
            let grown = after - before
            exit(grown > 60 << 20 && bytes[grown % 7] == 1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func `open descriptors are counted`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["count"])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `the limit of descriptors is raised as far as allowed, and told`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            unsafe getrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 100
            unsafe setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            let raised = try ResourceLimit.raiseOpenDescriptors()
            let now = try ResourceLimit.openDescriptors.current()
            let again = try ResourceLimit.raiseOpenDescriptors()
            let isRight =
                raised.before == 100 && raised.now == UInt64(limit.rlim_max)
                && now.soft == raised.now && now.hard == raised.now && again.before == raised.now
            exit(isRight ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
}
