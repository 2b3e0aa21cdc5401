#if canImport(Combine) || OpenCombine
#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif
internal import DequeModule

/// Queues elements for a subscriber: one at a time, within its demand, dropping the oldest when it is slow.
///
/// A value without I/O. The caller that has to deliver asks ``next()`` until it answers `wait`, and no other caller
/// delivers meanwhile. So calls to a subscriber never overlap, although several threads bring and ask for values.
struct DemandQueue<Element: Sendable>: Sendable {
    /// The next step for the subscriber.
    enum OnNext: Sendable {
        /// Give it the element; before that, report how many were dropped since the former one.
        case give(Element, dropped: Int)
        /// Tell it that nothing follows.
        case finish
        /// Stop until the next call that returns `deliver`.
        case wait
    }

    private enum State: Sendable {
        /// More may come.
        case open
        /// Nothing comes any more; what waits is still to be given.
        case ending
        /// The subscriber has been told of the end, or has cancelled.
        case ended
    }

    /// The most bytes that wait; one element may always wait.
    private static var mostBytes: Int { 16 << 20 }

    private let capacity: Int
    private var state = State.open
    private var waiting: Deque<(element: Element, bytes: Int)> = []
    private var bytes = 0
    private var demand = Subscribers.Demand.none
    private var dropped = 0
    private var hasStarted = false
    private var isDelivering = false

    /// Makes an empty queue that keeps at most `capacity` elements, at least one.
    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// Takes an element; when the queue is full, the oldest ones go.
    ///
    /// - Parameters:
    ///   - element: the element.
    ///   - bytes: the memory that it keeps.
    /// - Returns: whether the caller has to deliver.
    mutating func push(_ element: Element, bytes: Int = 0) -> Bool {
        guard case .open = self.state else { return false }
        self.hasStarted = true
        while !self.waiting.isEmpty, self.waiting.count >= self.capacity || self.bytes + bytes > Self.mostBytes {
            self.bytes -= self.waiting.removeFirst().bytes
            self.dropped += 1
        }
        self.waiting.append((element, bytes))
        self.bytes += bytes
        return self.beginDelivering()
    }

    /// Takes what held before the first element, unless that one is here already.
    ///
    /// - Returns: whether the caller has to deliver.
    mutating func begin(with element: Element) -> Bool { self.hasStarted ? false : self.push(element) }

    /// Adds to the subscriber's demand.
    ///
    /// - Returns: whether the caller has to deliver.
    mutating func request(_ demand: Subscribers.Demand) -> Bool {
        self.demand += demand
        return self.beginDelivering()
    }

    /// Schedules the end for the subscriber, after the waiting elements.
    ///
    /// - Returns: whether the caller has to deliver.
    mutating func finish() -> Bool {
        guard case .open = self.state else { return false }
        self.state = .ending
        return self.beginDelivering()
    }

    /// Forgets everything; the subscriber is left alone from now on.
    mutating func cancel() {
        self.state = .ended
        (self.waiting, self.bytes) = ([], 0)
    }

    /// The next thing to do, for the one who delivers.
    mutating func next() -> OnNext {
        guard self.isReady else {
            self.isDelivering = false
            return .wait
        }
        guard let (element, bytes) = self.waiting.popFirst() else {
            self.state = .ended
            return .finish
        }
        self.bytes -= bytes
        self.demand -= 1
        defer { self.dropped = 0 }
        return .give(element, dropped: self.dropped)
    }

    private var isReady: Bool {
        switch self.state {
        case .open: !self.waiting.isEmpty && self.demand > 0
        case .ending: self.waiting.isEmpty || self.demand > 0
        case .ended: false
        }
    }

    private mutating func beginDelivering() -> Bool {
        guard !self.isDelivering, self.isReady else { return false }
        self.isDelivering = true
        return true
    }
}
#endif
