@testable import Linkspan
internal import Testing

/// The checker must be able to find everything that it is there to find.
@Suite("The history checker")
struct HistoryTests {
    /// A history by hand.
    private struct Tale {
        var history = History()
        private(set) var time = Duration.zero

        mutating func wait(_ seconds: Int) { self.time += .seconds(seconds) }

        mutating func call(_ name: String, _ kind: Command.Kind, timeout: Duration? = nil) {
            self.history.called(
                name, Command(kind, event: name, payload: .empty, timeout: timeout), at: self.time)
        }

        mutating func take(_ name: String, link: Int = 1, number: UInt64? = nil) {
            self.history.taken(name, link: link, requestID: number, at: self.time)
        }

        mutating func apply(_ name: String, link: Int = 1) { self.history.applied(name, link: link, at: self.time) }

        mutating func carry(_ name: String, link: Int = 1, number: UInt64? = nil) {
            self.take(name, link: link, number: number)
            self.apply(name, link: link)
        }

        mutating func succeed(_ name: String) { self.history.ended(name, .success(.empty), at: self.time) }

        mutating func answer(_ name: String, with reply: String? = nil) {
            self.history.ended(name, .success(.json("\"\(reply ?? name)\"")), at: self.time)
        }

        mutating func fail(_ name: String, _ certainty: LinkspanError.Certainty?) {
            let error = LinkspanError(.disconnected, "in a test", certainty: certainty)
            self.history.ended(name, .failure(error), at: self.time)
        }

        mutating func refuse(_ name: String) {
            let error = LinkspanError(.bufferFull, "in a test", certainty: .notSent)
            self.history.refused(name, error, at: self.time)
        }
    }

    private static let orderingKey = Command.Kind.deliver(orderingKey: "room")

    private func verdicts(_ tell: (inout Tale) -> Void) -> [Verdict] {
        var tale = Tale()
        tell(&tale)
        return tale.history.violations.map(\.verdict)
    }

    @Test
    func `a history in which all is well has no violations`() {
        let verdicts = self.verdicts { tale in
            for name in ["s", "r", "lost", "refused"] { tale.call(name, name == "s" ? .send : .request) }
            for name in ["a", "b", "c"] { tale.call(name, Self.orderingKey, timeout: .seconds(90)) }
            tale.refuse("refused")
            tale.take("s")
            tale.succeed("s")
            tale.carry("r", number: 0)
            tale.take("lost", number: 1)
            tale.carry("a", number: 2)
            tale.answer("r")
            tale.fail("lost", .unknown)
            tale.wait(1)
            tale.carry("a", link: 2, number: 3)
            tale.wait(20)
            tale.take("a", link: 2, number: 3)
            tale.answer("a")
            tale.carry("b", link: 2, number: 4)
            tale.fail("c", .notSent)
            tale.answer("b")
            tale.history.becameQuiet(.connected)
        }
        #expect(verdicts == [])
    }

    @Test
    func `lost: a send that no link took, an answer to what was never seen`() {
        let verdicts = self.verdicts { tale in
            tale.call("s", .send)
            tale.succeed("s")
            tale.call("r", .request)
            tale.take("r", number: 0)
            tale.answer("r")
            tale.call("d", Self.orderingKey)
            tale.answer("d")
        }
        #expect(verdicts == [.lost, .lost, .lost])
    }

    @Test
    func `duplicated: a send or request that two links took, or that the server applied twice`() {
        let verdicts = self.verdicts { tale in
            tale.call("s", .send)
            tale.take("s", link: 1)
            tale.take("s", link: 2)
            tale.succeed("s")
            tale.call("r", .request)
            tale.carry("r", number: 0)
            tale.apply("r")
            tale.answer("r")
        }
        #expect(verdicts == [.duplicated, .duplicated])
    }

    @Test
    func `duplicated: a delivery that goes on after its end, too soon, too often, or under a second number`() {
        let afterItsEnd = self.verdicts { tale in
            tale.call("d", Self.orderingKey)
            tale.carry("d", number: 0)
            tale.answer("d")
            tale.wait(30)
            tale.take("d", number: 0)
        }
        let tooSoon = self.verdicts { tale in
            tale.call("d", Self.orderingKey)
            tale.carry("d", number: 0)
            tale.wait(19)
            tale.take("d", number: 0)
            tale.answer("d")
        }
        let tooOften = self.verdicts { tale in
            tale.history.deliveries.attempts = 2
            tale.call("d", Self.orderingKey)
            for link in 1...3 { tale.carry("d", link: link, number: 0) }
            tale.answer("d")
        }
        let secondNumber = self.verdicts { tale in
            tale.call("d", Self.orderingKey)
            tale.carry("d", number: 0)
            tale.wait(20)
            tale.take("d", number: 1)
            tale.answer("d")
        }
        #expect([afterItsEnd, tooSoon, tooOften, secondNumber] == Array(repeating: [.duplicated], count: 4))
    }

    @Test
    func
        `reordered: sends and requests that overtake, an ordering key that does not wait, a greeting that is not first`()
    {
        let overtaking = self.verdicts { tale in
            tale.call("s", .send)
            tale.call("r", .request)
            tale.carry("r", number: 0)
            tale.take("s")
            tale.succeed("s")
            tale.answer("r")
        }
        let notWaiting = self.verdicts { tale in
            for name in ["a", "b"] {
                tale.call(name, Self.orderingKey)
                tale.carry(name)
            }
            tale.wait(1)
            for name in ["a", "b"] { tale.answer(name) }
        }
        let overtakingInQueue = self.verdicts { tale in
            for name in ["a", "b"] { tale.call(name, Self.orderingKey) }
            for name in ["b", "a"] {
                tale.carry(name)
                tale.answer(name)
            }
        }
        let ahead = self.verdicts { tale in
            tale.history.mustGreet = true
            tale.call("s", .send)
            tale.take("s")
            tale.succeed("s")
            tale.history.greeted(link: 1, at: tale.time)
        }
        #expect(overtaking == [.reordered])
        #expect(notWaiting == [.reordered])
        #expect(overtakingInQueue == [.reordered, .reordered], "on the link and at the server")
        #expect(ahead == [.reordered])
    }

    @Test
    func `two outcomes: a call that ends twice, or was refused and ends`() {
        let verdicts = self.verdicts { tale in
            tale.call("r", .request)
            tale.carry("r", number: 0)
            tale.answer("r")
            tale.fail("r", .unknown)
            tale.call("refused", .send)
            tale.refuse("refused")
            tale.fail("refused", .notSent)
        }
        #expect(verdicts == [.twoOutcomes, .twoOutcomes])
    }

    @Test
    func `no outcome: a call that never ends, or whose end does not say whether it was sent`() {
        let verdicts = self.verdicts { tale in
            tale.call("r", .request)
            tale.carry("r", number: 0)
            tale.call("s", .send)
            tale.fail("s", nil)
        }
        #expect(verdicts == [.noOutcome, .noOutcome])
    }

    @Test
    func `falsely unsent: what a link took is not called unsent, whether it ended so or was refused`() {
        let verdicts = self.verdicts { tale in
            tale.call("r", .request)
            tale.take("r", number: 0)
            tale.fail("r", .notSent)
            tale.call("s", .send)
            tale.take("s")
            tale.refuse("s")
        }
        #expect(verdicts == [.falselyUnsent, .falselyUnsent])
    }

    @Test
    func `stuck: a call that outlives its timeout or the last fault, no repetition, no return`() {
        let outlived = self.verdicts { tale in
            tale.call("r", .request, timeout: .seconds(5))
            tale.wait(6)
            tale.fail("r", .notSent)
        }
        let ended = self.verdicts { tale in
            tale.call("s", .send)
            tale.history.becameQuiet(.connected)
            tale.fail("s", .notSent)
        }
        let down = self.verdicts { $0.history.becameQuiet(.reconnecting) }
        let unrepeated = self.verdicts { tale in
            tale.call("d", Self.orderingKey)
            tale.carry("d", number: 0)
            tale.wait(21)
            tale.carry("d", number: 0)
            tale.answer("d")
        }
        #expect([outlived, ended, down, unrepeated] == Array(repeating: [.stuck], count: 4))
    }

    @Test
    func `misanswered: the reply to something else`() {
        let verdicts = self.verdicts { tale in
            tale.call("r", .request)
            tale.carry("r", number: 0)
            tale.answer("r", with: "other")
        }
        #expect(verdicts == [.misanswered])
    }

    @Test
    func `left over: links or connections that should be gone`() {
        #expect(self.verdicts { $0.history.leftOver = 1 } == [.leftOver])
    }
}
