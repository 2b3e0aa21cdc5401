/// A connection's state as an asynchronous sequence: the newest change first of all, then each newer one.
///
/// A slow reader skips states that have passed, never misses the latest, and never sees one twice. The sequence ends
/// after the change to ``ConnectionState/released``, and when its holder gives the connection back. It is for one
/// reader; each use of ``Connection/stateChanges`` makes another.
public struct StateChanges: AsyncSequence, Sendable {
    /// One change.
    public typealias Element = StateChange

    let stream: AsyncStream<StateChange>

    /// Makes an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: self.stream) }

    /// Iterates over the changes.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let stream: AsyncStream<StateChange>

        /// The next change, or nil after the last.
        public mutating func next() async -> StateChange? {
            // Made for each element, because iterators of streams cannot pass from one isolation to another.
            var iterator = self.stream.makeAsyncIterator()
            return await iterator.next()
        }
    }
}
