internal import LinkspanRuntime

#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

/// Turns Unix signals into ``AppEvent/willTerminate(reason:grace:)``, so that servers end as apps do.
///
/// While a source runs, the signals no longer end the process: the application must stop on the event. Afterwards the
/// former dispositions are restored.
public struct UnixSignalSource: EventSource {
    private let signals: Set<Int32>
    private let grace: Duration?

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - signals: the numbers of the signals; nil for SIGTERM, as sent by supervisors, and SIGINT, as sent by Ctrl-C.
    ///   - grace: the time the supervisor waits before it kills the process.
    public init(_ signals: Set<Int32>? = nil, grace: Duration? = nil) {
        self.signals = signals ?? [SIGTERM, SIGINT]
        self.grace = grace
    }

    private static func reason(_ signal: Int32) -> String {
        switch signal {
        case SIGTERM: "SIGTERM"
        case SIGINT: "SIGINT"
        case SIGHUP: "SIGHUP"
        default: "signal \(signal)"
        }
    }

    /// Reports signals until the task is cancelled.
    ///
    /// - Throws: an error with the reason when the process has no descriptor or thread left to receive signals with.
    public func run(_ emit: @escaping @Sendable (AppEvent) -> Void) async throws {
        let grace = self.grace
        let token = try await SignalPipe.shared.listen(to: Array(self.signals)) { number in
            emit(.willTerminate(reason: Self.reason(number), grace: grace))
        }
        await untilCancelled()
        await SignalPipe.shared.forget(token)
    }
}

/// A shortage of descriptors or threads in the process.
package struct ResourceShortage: Error, Sendable, Hashable, CustomStringConvertible {
    /// The failed operation and the system's reason.
    package let description: String
}

// An actor for listeners and dispositions: sources that come and go contend with the task that hands signals on.
/// Carries signals by a pipe from the signal handler, where almost no call is allowed, to their listeners.
private actor SignalPipe {
    static let shared = SignalPipe()

    private struct Listener: Sendable {
        var numbers: [Int32]
        var handler: @Sendable (Int32) -> Void
    }

    /// The end that the signal handler writes to; -1 until there is a pipe.
    ///
    /// Unsafe because the compiler cannot see that it is written once, before the first handler is installed.
    private nonisolated(unsafe) static var writingEnd: Int32 = -1

    private var last = 0
    private var listeners: [Int: Listener] = [:]
    private var former: [Int32: sigaction] = [:]
    private var readingEnd: Int32?
    private var isServed = false

    func listen(to numbers: [Int32], _ handler: @escaping @Sendable (Int32) -> Void) throws(ResourceShortage) -> Int {
        try self.serve()
        self.last += 1
        self.listeners[self.last] = Listener(numbers: numbers, handler: handler)
        for number in numbers where self.former[number] == nil { self.former[number] = Self.install(number) }
        return self.last
    }

    func forget(_ token: Int) {
        self.listeners[token] = nil
        let wanted = Set(self.listeners.values.flatMap { $0.numbers })
        for (number, former) in self.former where !wanted.contains(number) {
            var former = former
            sigaction(number, &former, nil)
            self.former[number] = nil
        }
    }

    private static func install(_ number: Int32) -> sigaction {
        var action = sigaction()
        action.sa_flags = Int32(SA_RESTART)
        // The pipe exists by now, so reading its end here takes no lock and no memory.
        let handler: @convention(c) (Int32) -> Void = { number in
            let saved = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(SignalPipe.writingEnd, &byte, 1)
            errno = saved
        }
        #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = handler
        #elseif canImport(Musl)
        action.__sa_handler.sa_handler = handler
        #elseif canImport(Android)
        action.sa_handler = handler
        #else
        action.__sigaction_handler.sa_handler = handler
        #endif
        var former = sigaction()
        sigaction(number, &action, &former)
        return former
    }

    /// Begins to hand signals on, once.
    private func serve() throws(ResourceShortage) {
        guard !self.isServed else { return }
        let reading = try self.openPipe()
        let (signals, signal) = AsyncStream.makeStream(of: Int32.self)
        let began = SystemThread.start(name: "linkspan.signals") {
            while true {
                var byte: UInt8 = 0
                if read(reading, &byte, 1) == 1 { signal.yield(Int32(byte)) }
            }
        }
        guard began else { throw ResourceShortage(description: "no thread is left to receive signals") }
        self.isServed = true
        // No parent can own this task: like the signals, it is there for the whole process.
        Task {
            for await number in signals { self.hear(number) }
        }
    }

    /// The end of the pipe to read from.
    private func openPipe() throws(ResourceShortage) -> Int32 {
        if let readingEnd = self.readingEnd { return readingEnd }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ResourceShortage(description: "cannot create a pipe for signals: \(SystemProblem.text(of: errno))")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        // A full pipe must not hold up the thread that a signal has interrupted.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        (self.readingEnd, Self.writingEnd) = (ends[0], ends[1])
        return ends[0]
    }

    private func hear(_ number: Int32) {
        for listener in self.listeners.values where listener.numbers.contains(number) { listener.handler(number) }
    }
}
