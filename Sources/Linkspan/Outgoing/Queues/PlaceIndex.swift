internal import LinkspanRuntime

/// Finds places of a slab by a hash of what stands there, with four bytes for each and no copy of the key.
///
/// An open-addressed table with linear probing, at most three quarters full. Who uses it compares keys and names hashes.
struct PlaceIndex {
    typealias Place = UInt32

    private static var none: Place { .max }

    private var places: [Place] = []
    private(set) var count = 0

    /// Spreads a number over all bits, of which the table uses the highest.
    ///
    /// Twice, because numbers come in any steps: each of 2,584 connections that take turns gets every 2,584th, and one
    /// multiplication would put those beside each other.
    static func hash(_ number: UInt64) -> UInt64 {
        let spread = number &* 0x9E37_79B9_7F4A_7C15
        return (spread ^ spread >> 32) &* 0xD6E8_FEB8_6659_FD93
    }

    static func hash(_ text: String) -> UInt64 { Self.hash(UInt64(bitPattern: Int64(text.hashValue))) }

    /// The place whose key is meant.
    func find(_ hash: UInt64, where isMeant: (Place) -> Bool) -> Place? {
        self.bucket(hash, where: isMeant).map { self.places[$0] }
    }

    private func bucket(_ hash: UInt64, where isMeant: (Place) -> Bool) -> Int? {
        guard self.count > 0 else { return nil }
        var bucket = self.home(hash)
        while self.places[bucket] != Self.none {
            assert(Growth.step())
            if isMeant(self.places[bucket]) { return bucket }
            bucket = self.next(bucket)
        }
        return nil
    }

    /// Adds a place whose key is not there.
    ///
    /// - Parameters:
    ///   - place: the place.
    ///   - hash: the hash of its key.
    ///   - hashOf: the hash of the key at a place that is there already.
    mutating func insert(_ place: Place, _ hash: UInt64, hashOf: (Place) -> UInt64) {
        if self.count * 4 >= self.places.count * 3 { self.resize(max(4, self.places.count * 2), hashOf) }
        self.put(place, hash)
        self.count += 1
    }

    /// Removes the place whose key is meant.
    mutating func remove(
        _ hash: UInt64, hashOf: (Place) -> UInt64, where isMeant: (Place) -> Bool
    ) -> Place? {
        guard var hole = self.bucket(hash, where: isMeant) else { return nil }
        let removed = self.places[hole]
        // What was put behind the hole for want of a better bucket moves into it.
        var bucket = self.next(hole)
        while self.places[bucket] != Self.none {
            assert(Growth.step())
            let home = self.home(hashOf(self.places[bucket]))
            if (bucket &- home) & (self.places.count - 1) >= (bucket &- hole) & (self.places.count - 1) {
                self.places[hole] = self.places[bucket]
                hole = bucket
            }
            bucket = self.next(bucket)
        }
        self.places[hole] = Self.none
        self.count -= 1
        if self.count == 0, self.places.count > 16 { self.places = [] }
        return removed
    }

    mutating func removeAll() { self = Self() }

    private mutating func resize(_ capacity: Int, _ hashOf: (Place) -> UInt64) {
        let former = self.places
        self.places = [Place](repeating: Self.none, count: capacity)
        for place in former where place != Self.none { self.put(place, hashOf(place)) }
    }

    private mutating func put(_ place: Place, _ hash: UInt64) {
        var bucket = self.home(hash)
        while self.places[bucket] != Self.none {
            assert(Growth.step())
            bucket = self.next(bucket)
        }
        self.places[bucket] = place
    }

    /// The bucket in which a key is looked for first.
    private func home(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash >> UInt64(64 - self.places.count.trailingZeroBitCount))
    }

    private func next(_ bucket: Int) -> Int { (bucket + 1) & (self.places.count - 1) }
}
