extension [UInt8] {
    /// The factor from each step of the memory to the next.
    private static var growth: Int { 8 }

    /// Makes room to append so many bytes to a message of which at most `most` are taken.
    ///
    /// While memory grows there are two copies of a message, so it grows in few steps, which are counted down from the
    /// limit: then the smaller copy is an eighth of it at most. Counted up from the first bytes, a copy as large as the
    /// limit could stand beside another. What is reserved and not used costs addresses and no memory.
    package mutating func makeRoom(for more: Int, most: Int) {
        let count = self.count + more
        guard count > self.capacity else { return }
        var room = Swift.max(count, most)
        while room / Self.growth >= count { room /= Self.growth }
        self.reserveCapacity(room)
    }
}
