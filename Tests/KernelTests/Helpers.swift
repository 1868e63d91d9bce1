// The common part of this target's tests: bounded waits, and the errors of calls.

import Glibc
import Kernel
import Support

/// Waits until a descriptor can be read or has ended, with a bound far above every wait here.
func waitUntilReadable(_ descriptor: borrowing Descriptor) throws {
    try waitUntilReady(descriptor.number)
}

/// Reads until the other side closes.
func readToEnd(_ descriptor: borrowing Descriptor) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < 1 << 22 {
        switch try descriptor.read(appendingTo: &bytes, atMost: 65_536) {
        case .bytes: continue
        case .wouldBlock: try waitUntilReadable(descriptor)
        case .end: return String(decoding: bytes, as: UTF8.self)
        }
    }
    throw Unexpected("more than 4 MB")
}

/// Reads until `count` bytes have come.
func read(_ count: Int, from descriptor: borrowing Descriptor) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < count {
        switch try descriptor.read(appendingTo: &bytes, atMost: count - bytes.count) {
        case .bytes: continue
        case .wouldBlock: try waitUntilReadable(descriptor)
        case .end: throw Unexpected("the end after \(bytes.count) bytes")
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// The error number that a call throws; 0 when it throws none.
func errorNumber(_ body: () throws(SystemError) -> Void) -> CInt {
    do throws(SystemError) {
        try body()
        return 0
    } catch {
        return error.errno
    }
}

/// The error of a call on sockets; nil when it throws none.
func socketError(_ body: () throws(SocketError) -> Void) -> SocketError? {
    do throws(SocketError) {
        try body()
        return nil
    } catch {
        return error
    }
}

/// The kernel's error number in a socket error; nil when it is another one.
func errorNumber(of error: SocketError?) -> CInt? {
    guard case .system(let error) = error else { return nil }
    return error.errno
}

/// The descriptor in an optional one, which `#require` cannot unwrap as it is not copyable.
func present(_ descriptor: consuming Descriptor?) throws -> Descriptor {
    guard let descriptor else { throw Unexpected("the descriptor was taken already") }
    return descriptor
}

/// Calls `body` while the kernel sends its thread a signal in each millisecond.
///
/// None of the signals restarts a call by itself.
func underSignals<Result>(_ body: () throws -> Result) throws -> Result {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in }
    unsafe sigaction(SIGURG, &action, nil)
    // Dispatch's threads, on which tests run, block every signal.
    var one = sigset_t()
    unsafe sigaddset(&one, SIGURG)
    unsafe pthread_sigmask(SIG_UNBLOCK, &one, nil)
    defer { unsafe pthread_sigmask(SIG_BLOCK, &one, nil) }
    var event = unsafe sigevent()
    unsafe event.sigev_signo = SIGURG
    let toThread: CInt = 4  // SIGEV_THREAD_ID
    unsafe event.sigev_notify = toThread
    unsafe event._sigev_un._tid = SystemThread.ID.current.number
    var timer: timer_t?
    guard unsafe timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 else {
        throw SystemError.last("timer_create")
    }
    defer { unsafe timer_delete(timer) }
    let period = timespec(tv_sec: 0, tv_nsec: 1_000_000)
    var setting = itimerspec(it_interval: period, it_value: period)
    unsafe timer_settime(timer, 0, &setting, nil)
    return try body()
}
