/// Something that takes one of the server's places: a connection, or a session.
protocol PlaceHolder: AnyObject {
    associatedtype PlaceKey: Hashable
    var placeKey: PlaceKey { get }
    /// The address that it came from.
    var address: String { get }
    /// Since when it has been of no use: it rests, or has begun and joined nothing yet; nil while it is used.
    var unusedSince: ContinuousClock.Instant? { get }
}

/// A limited number of places for connections or sessions, with a limit for each address.
///
/// When all are taken, a new holder replaces another: of the address with the most holders, the one that has been idle
/// longest. So a client that opens connections and does not use them cannot lock out others.
struct Places<Holder: PlaceHolder> {
    enum Outcome {
        case taken
        /// Taken from another, which is to be dropped.
        case takenFrom(Holder)
        /// All places are used.
        case refused
    }

    private let limit: Int
    private let limitPerAddress: Int
    private var holders: [Holder.PlaceKey: Holder] = [:]
    private var counts: [String: Int] = [:]

    init(limit: Int, limitPerAddress: Int) {
        self.limit = limit
        self.limitPerAddress = limitPerAddress
    }

    var all: [Holder] { Array(self.holders.values) }
    var isEmpty: Bool { self.holders.isEmpty }
    subscript(key: Holder.PlaceKey) -> Holder? { self.holders[key] }

    mutating func add(_ holder: Holder) -> Outcome {
        let ofAddress = self.counts[holder.address] ?? 0
        var displaced: Holder?
        if ofAddress >= self.limitPerAddress {
            displaced = self.leastUseful { $0.address == holder.address }
            guard displaced != nil else { return .refused }
        } else if self.holders.count >= self.limit {
            displaced = self.leastUseful { _ in true }
            guard displaced != nil else { return .refused }
        }
        if let displaced { self.remove(displaced) }
        self.holders[holder.placeKey] = holder
        self.counts[holder.address, default: 0] += 1
        return displaced.map { .takenFrom($0) } ?? .taken
    }

    mutating func remove(_ holder: Holder) {
        guard self.holders.removeValue(forKey: holder.placeKey) != nil else { return }
        let rest = (self.counts[holder.address] ?? 0) - 1
        self.counts[holder.address] = rest > 0 ? rest : nil
    }

    private func leastUseful(_ isMeant: (Holder) -> Bool) -> Holder? {
        var least: (holder: Holder, rank: (Int, ContinuousClock.Instant))?
        for holder in self.holders.values where isMeant(holder) {
            guard let since = holder.unusedSince else { continue }
            let rank = (-(self.counts[holder.address] ?? 0), since)
            if let least, least.rank <= rank { continue }
            least = (holder, rank)
        }
        return least?.holder
    }
}
