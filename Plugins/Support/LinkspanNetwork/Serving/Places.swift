/// A holder of one of the server's places: a connection, or a session.
package protocol PlaceHolder: AnyObject {
    associatedtype PlaceKey: Hashable
    var placeKey: PlaceKey { get }
    /// The instant since which it is idle: it rests, or has joined nothing yet; nil while it is used.
    var unusedSince: ContinuousClock.Instant? { get }
}

/// A limited number of places for connections or sessions.
///
/// When all are taken, a new holder replaces the one that has been idle longest. So a client that opens connections and
/// does not use them cannot lock out others.
package struct Places<Holder: PlaceHolder> {
    private let limit: Int
    private var holders: [Holder.PlaceKey: Holder] = [:]

    package init(limit: Int) { self.limit = limit }

    package var all: [Holder] { Array(self.holders.values) }
    package var isEmpty: Bool { self.holders.isEmpty }
    package subscript(key: Holder.PlaceKey) -> Holder? { self.holders[key] }

    /// Adds a holder, unless all places are used.
    ///
    /// - Returns: whether it has a place, and the former holder of that place, which is to be dropped.
    package mutating func add(_ holder: Holder) -> (isTaken: Bool, former: Holder?) {
        var longest: Holder?
        if self.holders.count >= self.limit {
            let idle = self.holders.values.compactMap { other in other.unusedSince.map { (holder: other, since: $0) } }
            longest = idle.min { $0.since < $1.since }?.holder
            guard let longest else { return (false, nil) }
            self.remove(longest)
        }
        self.holders[holder.placeKey] = holder
        return (true, longest)
    }

    package mutating func remove(_ holder: Holder) { self.holders[holder.placeKey] = nil }
}
