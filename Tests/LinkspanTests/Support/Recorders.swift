internal import LinkspanRuntime
internal import Logging

@testable import Linkspan

/// A subscription that is known later than its handler.
final class Later: Sendable {
    private let state = Lock<Subscription?>(nil)

    var subscription: Subscription? {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }

    func cancel() { self.subscription?.cancel() }
}

/// Counts the ``Held`` that are alive.
final class Witness: Sendable {
    private let alive = Lock(0)

    var count: Int { self.alive.withLock { $0 } }

    fileprivate func change(by step: Int) { self.alive.withLock { $0 += step } }
}

/// Something that a closure holds.
final class Held: Sendable {
    private let witness: Witness

    init(_ witness: Witness) {
        self.witness = witness
        witness.change(by: 1)
    }

    deinit { self.witness.change(by: -1) }

    func touch() {}
}

/// A counter for several threads.
final class Counter: Sendable {
    private let state = Lock(0)

    var value: Int { self.state.withLock { $0 } }

    @discardableResult
    func increment() -> Int {
        self.state.withLock { state in
            state += 1
            return state
        }
    }
}

/// What a retry policy was asked, in order.
final class Asked: Sendable {
    private let state = Lock<[RetryQuestion]>([])

    var questions: [RetryQuestion] { self.state.withLock { $0 } }

    func record(_ question: RetryQuestion) { self.state.withLock { $0.append(question) } }
}

/// Keeps what is logged at a level or above.
final class LogRecorder: LogHandler {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let kept = Lock<[Line]>([])
    private let level: Logger.Level

    init(from level: Logger.Level) { self.level = level }

    var lines: [Line] { self.kept.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { self.level }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let line = Line(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
        self.kept.withLock { $0.append(line) }
    }
}
