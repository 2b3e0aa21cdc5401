@testable import Linkspan
internal import LinkspanRuntime

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
