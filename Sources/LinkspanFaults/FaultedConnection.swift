private import CLinkspanRuntime
internal import DequeModule

/// What happens to each byte of one connection through a ``FaultProxy``, and when; without sockets and clocks.
///
/// Chance depends on the seed and on the place of a byte, not on the sizes of reads.
package struct FaultedConnection: Sendable {
    /// What the proxy has to do.
    package enum Action: Sendable, Equatable {
        case send([UInt8], to: FaultProfile.Side)
        /// The other side sends nothing more.
        case finish(to: FaultProfile.Side)
        /// The profile ends the connection; there are no further actions.
        case end(FaultProfile.Ending)
    }

    private var profile: FaultProfile
    /// When the profile began.
    private var origin: Duration
    private var lanes: [Lane]
    private var generator: SeededGenerator
    /// The sum of `drops` over time at which the connection ends, less what has passed.
    private var endurance: Double
    private var now: Duration
    /// Whether the profile has ended the connection, or both sides have.
    package private(set) var isOver = false
    private var finished = 0

    /// Begins a connection.
    ///
    /// - Parameters:
    ///   - profile: the faults.
    ///   - seed: determines chance, together with the number.
    ///   - number: the connection's number at its proxy.
    ///   - origin: the time at which the profile began.
    ///   - now: the present time.
    package init(
        _ profile: FaultProfile, seed: UInt64, number: Int, began origin: Duration = .zero, at now: Duration = .zero
    ) {
        (self.profile, self.origin, self.now) = (profile, origin, now)
        // The numbers of a generator whose seed is another's number would be the other's.
        var seeds = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95 &+ UInt64(truncatingIfNeeded: number))
        self.lanes = [Lane(from: .client, seed: seeds.next()), Lane(from: .server, seed: seeds.next())]
        self.generator = SeededGenerator(seed: seeds.next())
        self.endurance = self.generator.exponential()
    }

    /// The bytes that were changed.
    package var corruptedBytes: Int { self.lanes[0].corruptedBytes + self.lanes[1].corruptedBytes }
    /// The segments that were sent again.
    package var lostSegments: Int { self.lanes[0].lostSegments + self.lanes[1].lostSegments }

    /// Whether a side should not be read from, because what it sent waits.
    package func isFull(_ side: FaultProfile.Side) -> Bool { self.lanes[side.index].waitingBytes >= 256 * 1024 }

    /// Replaces the faults; their time line begins now.
    package mutating func use(_ profile: FaultProfile, at now: Duration) {
        (self.profile, self.origin) = (profile, now)
    }

    /// Takes bytes from a side.
    package mutating func receive(_ bytes: [UInt8], from side: FaultProfile.Side, at now: Duration) {
        guard !self.isOver else { return }
        self.lanes[side.index].receive(bytes, self.phase(side, now), at: now)
    }

    /// Takes the end of what a side sends.
    package mutating func finish(from side: FaultProfile.Side, at now: Duration) {
        guard !self.isOver else { return }
        self.lanes[side.index].finish(self.phase(side, now), at: now)
    }

    /// Does what is due by a time.
    package mutating func advance(to now: Duration) -> [Action] {
        guard !self.isOver else { return [] }
        var actions: [Action] = []
        self.pass(until: now)
        for index in self.lanes.indices {
            self.lanes[index].cut(self.phase(self.lanes[index].side, now), at: now)
            while !self.isOver, let item = self.lanes[index].next(at: now) {
                switch item {
                case .bytes(let bytes): actions.append(.send(bytes, to: self.lanes[index].side.other))
                case .finish:
                    actions.append(.finish(to: self.lanes[index].side.other))
                    self.finished += 1
                    self.isOver = self.finished == 2
                case .end(let ending):
                    self.isOver = true
                    actions.append(.end(ending))
                }
            }
        }
        if !self.isOver, self.endurance <= 0 {
            self.isOver = true
            actions.append(.end(self.dropping(now)?.ending ?? .close))
        }
        return actions
    }

    /// The time at which ``advance(to:)`` is due, unless bytes come before; nil for none.
    package var next: Duration? {
        guard !self.isOver else { return nil }
        var times = self.lanes.compactMap(\.due)
        if let change = self.profile.change(after: self.now - self.origin) { times.append(self.origin + change) }
        if let rate = self.dropping(self.now)?.hazard { times.append(self.now + .seconds(self.endurance / rate)) }
        return times.min()
    }

    private func phase(_ side: FaultProfile.Side, _ now: Duration) -> FaultProfile.Phase {
        self.profile.phase(from: side, at: now - self.origin)
    }

    private func dropping(_ now: Duration) -> FaultProfile.Phase? {
        self.lanes.map { self.phase($0.side, now) }.filter { $0.drops > 0 }.max { $0.drops < $1.drops }
    }

    /// Wears the connection down from phase to phase.
    private mutating func pass(until end: Duration) {
        while self.now < end {
            let change = self.profile.change(after: self.now - self.origin).map { self.origin + $0 }
            let next = min(end, change ?? end)
            // A nanosecond more, for what is lost in rounding.
            if let phase = self.dropping(self.now) {
                self.endurance -= (next - self.now + .nanoseconds(1)) / .seconds(1) * phase.hazard
            }
            self.now = next
        }
    }
}

/// One direction of a connection.
private struct Lane: Sendable {
    enum Item: Sendable {
        case bytes([UInt8])
        case finish
        case end(FaultProfile.Ending)
    }

    private static let segmentBytes = 1_460
    private static let resendTime = Duration.milliseconds(200)

    let side: FaultProfile.Side
    private(set) var waitingBytes = 0
    private(set) var corruptedBytes = 0
    private(set) var lostSegments = 0
    private var generator: SeededGenerator
    private var waiting: Deque<(due: Duration, item: Item)> = []
    private var count = 0
    private var isCut = false
    /// The chance of the present segment.
    private var (lateness, luck) = (0.0, 0.0)
    /// The bytes that pass before the next one that is changed, drawn for a probability.
    private var (intact, intactFor) = (Int.max, 0.0)
    /// When the line is free for more, and when the last byte arrives.
    private var (free, last) = (Duration.zero, Duration.zero)

    init(from side: FaultProfile.Side, seed: UInt64) {
        self.side = side
        self.generator = SeededGenerator(seed: seed)
    }

    var due: Duration? { self.waiting.first?.due }

    mutating func receive(_ bytes: [UInt8], _ phase: FaultProfile.Phase, at now: Duration) {
        var rest = bytes[...]
        while !rest.isEmpty, !self.isCut {
            let place = self.count % Self.segmentBytes
            if place == 0 {
                (self.lateness, self.luck) = (self.generator.unit(), self.generator.unit())
                if self.luck < phase.loss { self.lostSegments += 1 }
            }
            let room = min(Self.segmentBytes - place, phase.cut.map { max(0, $0 - self.count) } ?? .max)
            var piece = Array(rest.prefix(room))
            rest = rest.dropFirst(room)
            self.corrupt(&piece, phase.corruption)
            self.count += piece.count
            self.free = max(self.free, now) + phase.time(of: piece.count)
            var arrival = self.free + phase.delay + phase.jitter * self.lateness
            if self.luck < phase.loss { arrival += phase.delay * 2 + Self.resendTime }
            self.push(piece, at: arrival)
            self.cut(phase, at: now)
        }
    }

    mutating func finish(_ phase: FaultProfile.Phase, at now: Duration) {
        self.last = max(self.last, max(self.free, now) + phase.delay)
        self.waiting.append((self.last, .finish))
    }

    /// Ends the connection after what waits, when the phase says so.
    mutating func cut(_ phase: FaultProfile.Phase, at now: Duration) {
        guard !self.isCut, let cut = phase.cut, self.count >= cut else { return }
        self.isCut = true
        self.last = max(self.last, now)
        self.waiting.append((self.last, .end(phase.ending)))
    }

    mutating func next(at now: Duration) -> Item? {
        guard let first = self.waiting.first, first.due <= now else { return nil }
        self.waiting.removeFirst()
        if case .bytes(let bytes) = first.item { self.waitingBytes -= bytes.count }
        return first.item
    }

    private mutating func push(_ bytes: [UInt8], at arrival: Duration) {
        guard !bytes.isEmpty else { return }
        self.waitingBytes += bytes.count
        let due = max(self.last, arrival)
        self.last = due
        // Bytes that are due together are sent together.
        if let (time, item) = self.waiting.last, time == due, case .bytes(let before) = item {
            self.waiting[self.waiting.endIndex - 1].item = .bytes(before + bytes)
        } else {
            self.waiting.append((due, .bytes(bytes)))
        }
    }

    private mutating func corrupt(_ bytes: inout [UInt8], _ probability: Double) {
        if self.intactFor != probability {
            self.intactFor = probability
            self.intact = self.generator.gap(probability)
        }
        var place = self.intact
        while place < bytes.count {
            bytes[place] ^= 1 << (self.generator.next() & 7)
            self.corruptedBytes += 1
            place += 1 + min(self.generator.gap(probability), .max / 2)
        }
        self.intact = place - bytes.count
    }
}

extension FaultProfile.Side {
    fileprivate var other: Self { self == .client ? .server : .client }
    fileprivate var index: Int { self == .client ? 0 : 1 }
}

extension FaultProfile.Phase {
    /// The rate of a process that ends a connection within a second with the probability `drops`.
    fileprivate var hazard: Double { self.drops < 1 ? -log1p(-self.drops) : 1e9 }

    fileprivate func time(of bytes: Int) -> Duration {
        self.rate.map { .seconds(Double(bytes) / Double(max(1, $0))) } ?? .zero
    }
}

extension SeededGenerator {
    /// A number from 0 up to 1.
    fileprivate mutating func unit() -> Double { Double(self.next() >> 11) * 0x1p-53 }

    fileprivate mutating func exponential() -> Double { -log1p(-self.unit()) }

    /// The number of trials that fail before one succeeds.
    fileprivate mutating func gap(_ probability: Double) -> Int {
        guard probability > 0 else { return .max }
        guard probability < 1 else { return 0 }
        return Int(min(self.exponential() / -log1p(-probability), 1e18))
    }
}
