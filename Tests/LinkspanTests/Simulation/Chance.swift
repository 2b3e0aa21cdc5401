@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting

/// The source of all chance in one world.
final class Chance: Sendable {
    private let generator: Lock<SeededGenerator>

    init(seed: UInt64) { self.generator = Lock(SeededGenerator(seed: seed)) }

    func number(_ range: ClosedRange<Int>) -> Int { self.generator.withLock { .random(in: range, using: &$0) } }

    func fraction() -> Double { self.generator.withLock { .random(in: 0..<1, using: &$0) } }

    func element<Element>(_ elements: [Element]) -> Element { elements[self.number(0...elements.count - 1)] }

    /// True once in so many times.
    func isOne(in count: Int) -> Bool { self.number(1...count) == 1 }

    /// What a link goes through while faults happen.
    func script() -> LinkScript {
        switch self.number(0...9) {
        case 0: return .refusing(LinkspanError(.connectionLost, "refused"))
        case 1: return .hanging
        default: ()
        }
        return .init { script in
            // Some are so slow that a former link's words come when the next is up.
            let slowness = self.isOne(in: 8) ? self.number(0...8_000) : self.number(0...500)
            script.openingDelay = .milliseconds(self.number(0...3_000))
            script.delayToServer = { .milliseconds(self.number(0...slowness)) }
            script.delayToClient = { .milliseconds(self.number(0...slowness)) }
            script.dropsAfter = .milliseconds(self.number(0...120_000))
            if self.isOne(in: 5) { script.dropsAfterMessages = self.number(1...20) }
            if self.isOne(in: 10) { script.isHalfOpenAfter = .milliseconds(self.number(0...60_000)) }
            if self.isOne(in: 10) { script.isDeaf = true }
            if self.isOne(in: 5) { script.capacity = self.number(1...5) }
            script.outlivesDrop = self.isOne(in: 5)
            script.speaksAfterDrop = self.isOne(in: 5)
            script.copiesOfReplies = self.isOne(in: 5) ? 2 : 1
            script.showsRenewals = self.isOne(in: 2)
        }
    }

    /// How a connection behaves.
    func configure(_ options: inout ConnectionOptions) {
        options.buffer = BufferLimits(
            commands: self.number(5...80), overflow: self.element([.refuse, .dropOldest, .dropNewest]))
        options.deliveries = DeliveryOptions(
            commands: 50, repeatAfter: .seconds(self.number(2...20)),
            attempts: self.isOne(in: 3) ? self.number(2...6) : nil, keyPlacement: self.element([.none, .lastArgument]))
        if self.isOne(in: 2) {
            options.flush = FlushPacing(
                commands: self.number(1...8), bytes: self.number(20...2_000), pause: .milliseconds(self.number(0...500))
            )
        }
    }
}
