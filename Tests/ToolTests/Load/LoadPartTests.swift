internal import Foundation
internal import Linkspan
internal import LinkspanTesting
internal import Testing

@testable import linkspan

extension Tool {
    /// The parts of a load that need no server.
    @Suite(.timeLimit(.minutes(1)))
    struct LoadPartTests {
        @Test
        func `lost, doubled and swapped numbers are told apart`() {
            var check = SequenceCheck()
            for number in [1, 2, 4, 3, 5, 5, 8, 9, 7, 2] { check.receive(number) }
            #expect(check.lost(of: 11) == [6, 10, 11])
            #expect(check.doubled == [5, 2])
            #expect(check.reordered == [3, 7])
        }

        @Test(arguments: 1...20 as ClosedRange<UInt64>)
        func `the faults that a seeded line has made are counted exactly`(_ seed: UInt64) {
            var generator = SeededGenerator(seed: seed)
            var book = SequenceBook(1)
            _ = book.take(10_000, of: 0, to: .sender)
            var expected = SequenceBook.Faults()
            var held: Int?
            for number in 1...10_000 {
                let isHeld = held != nil
                switch Int.random(in: 0..<300, using: &generator) {
                case 0 where !isHeld: expected.lost += 1
                case 1 where !isHeld:
                    expected.doubled += 1
                    for _ in 1...2 { book.receive(number, of: 0, at: 0) }
                case 2 where !isHeld && number < 10_000: held = number
                default: book.receive(number, of: 0, at: 0)
                }
                if isHeld, let late = held {
                    expected.reordered += 1
                    held = nil
                    book.receive(late, of: 0, at: 0)
                }
            }
            #expect(book.faults([0]).fromServer == expected)
            #expect(book.faults([0]).toServer == .init())
            #expect(expected.lost > 0 && expected.doubled > 0 && expected.reordered > 0)
        }

        @Test
        func `several receivers show on which way a fault happened`() {
            var book = SequenceBook(3)
            _ = book.take(6, of: 0, to: .others)
            // 2 is lost before the server, 3 on the way to receiver 2, 5 is doubled before the server.
            for number in [1, 3, 4, 5, 5, 6] { book.receive(number, of: 0, at: 1) }
            for number in [1, 5, 4, 5, 6] { book.receive(number, of: 0, at: 2) }
            let (toServer, fromServer) = book.faults([0, 1, 2])
            #expect(toServer == .init(lost: 1, doubled: 1))
            #expect(fromServer == .init(lost: 1, reordered: 1))
            #expect(book.progress([0, 1, 2]).due == 12)
            // One that has not connected is owed nothing.
            #expect(book.faults([0, 1]).fromServer == .init(lost: 1, doubled: 1))
        }

        @Test
        func `an acknowledgement shows that an echo was lost on the way back`() {
            var book = SequenceBook(1)
            _ = book.take(3, of: 0, to: .sender, isAcknowledged: true)
            for number in 1...2 { book.acknowledge(number, of: 0) }
            book.receive(1, of: 0, at: 0)
            #expect(book.faults([0]).toServer == .init(lost: 1))
            #expect(book.faults([0]).fromServer == .init(lost: 1))
            let strange = [(4, 0), (0, 0), (1, 7)].map { book.receive($0, of: $1, at: 0) }
            #expect(strange == [false, false, false])
        }

        @Test
        func `a message that could not be sent is not lost`() {
            var book = SequenceBook(1)
            _ = book.take(3, of: 0, to: .sender, isAcknowledged: true)
            for number in [1, 3] { book.acknowledge(number, of: 0) }
            book.receive(1, of: 0, at: 0)
            book.cancel(2, of: 0)
            #expect(book.progress([0]) == (due: 2, received: 1))
            #expect(book.faults([0]).toServer == .init() && book.faults([0]).fromServer == .init(lost: 1))
        }

        @Test
        func `quantiles are within 0.8 % of those of the sorted times`() {
            var generator = SeededGenerator(seed: 3)
            var histogram = LatencyHistogram()
            let times = (0..<50_000).map { _ in
                Int64.random(in: 0...(1 << 40), using: &generator) >> (generator.next() % 40)
            }
            for time in times { histogram.record(time) }
            let sorted = times.sorted()
            for (_, share) in LoadReport.shares {
                let exact = sorted[Int((Double(times.count) * share).rounded(.up)) - 1]
                let found = histogram.quantile(share)
                #expect(found >= exact && Double(found) <= Double(exact) * 1.008 + 1)
            }
            #expect(histogram.longest == sorted.last && histogram.count == times.count)
            #expect(LatencyHistogram().quantile(0.5) == 0)
        }

        @Test(arguments: [([1, 7], [900_000, 3]), ([900_000], []), ([], [5])])
        func `two of them together are the one of all times`(_ left: [Int64], _ right: [Int64]) {
            func histogram(_ times: [Int64]) -> LatencyHistogram {
                var histogram = LatencyHistogram()
                for time in times { histogram.record(time) }
                return histogram
            }
            let (sum, all) = (histogram(left) + histogram(right), histogram(left + right))
            #expect(sum.count == all.count && sum.longest == all.longest && sum.mean == all.mean)
            for (_, share) in LoadReport.shares { #expect(sum.quantile(share) == all.quantile(share)) }
        }

        @Test
        func `a stamp is found wherever a server puts it`() throws {
            let template = try PayloadTemplate(
                #"{"room":"{{room}}","text":"~ {{stamp}}","by":{{client}}}"#.replacing("~ ", with: ""),
                columns: ["room"])
            let stamp = MessageStamp(sender: 12, number: 345, time: 6_789_000_000_123)
            let payload = template.payload(stamp, user: ["room": #"a "b" \"#])
            #expect(MessageStamp(in: payload.elements) == stamp)
            #expect(payload[0]?["room"]?.string == #"a "b" \"#)
            #expect(payload[0]?["by"]?.int == 12)
            for text in ["", "~", "~1", "~1.2.~", "~1.2.3", "~a.2.3~", "~1.2.99999999999999999999999~", "~~~"] {
                #expect(MessageStamp(in: Array(text.utf8)[...]) == nil)
            }
        }

        @Test
        func `a mistake in a template, a threshold or a scenario names itself`() throws {
            func words(_ body: () throws -> Void) -> String {
                do { try body() } catch { return "\(error)" }
                return ""
            }
            #expect(
                words { _ = try PayloadTemplate(#""{{who}}""#, columns: ["name"]) }.contains("use stamp, client, name"))
            #expect(words { _ = try PayloadTemplate("{{stamp}}", columns: []) }.contains("is not JSON"))
            #expect(words { _ = try LoadThreshold("p99<5") }.contains("names no value"))
            #expect(words { _ = try LoadThreshold("lost=0") }.contains("write it as"))
            #expect(words { _ = try LoadThreshold("lost<5ms") }.contains("lost is no time"))
            let folder = FileManager.default.temporaryDirectory
            for (text, sentence) in [
                ("clients: 5\nstepz: []", ":2: stepz: 'stepz' is none of clients, ramp"),
                ("steps:\n  - {emit: a}\n  - {emit: a, rat: 1}", ":3: steps[1].rat: 'rat' is none of emit"),
                ("\nclients: many", ":2: clients: has to be a whole number"),
                (
                    "clients: 5\nsteps:\n  - emit: a\n    rate: 1\n    rate: 2",
                    ":4: 'rate' is there more than once, first here"
                ),
                ("- a", ":1: has to be names with values"),
                ("clients: [1]", ":1: clients: has to be one value"),
                ("steps:\n  - {emit: a, payload: {b: 1}}", ":2: steps[0].payload: has to be one value; a text with {"),
                ("steps: [{}]", "a step has one of emit, request, expect and think, not 0 of them"),
                ("steps: [{emit: a, request: b}]", "not 2 of them"), ("a: 1\nclients: [1\nsteps: -", ":3:"),
                (
                    "steps: [{emit: a, audience: all}]",
                    "steps[0].audience: 'all' is none of none, sender, others, everyone"
                ),
                ("profile: {phases: [{cut: 1, ending: bang}]}", "'bang' is none of close, reset, halfOpen"),
                ("profile: {phases: [{delay: -1}]}", ":1: profile.phases[0].delay: delay has to be from"),
            ] {
                let file = folder.appending(path: "\(UUID().uuidString).yaml")
                try text.write(to: file, atomically: true, encoding: .utf8)
                defer { try? FileManager.default.removeItem(at: file) }
                let found = words { _ = try LoadCommand.read(file.path, as: LoadScenario.self) }
                #expect(found.contains(file.path) && found.contains(sentence), "\(found)")
            }
            var scenario = LoadScenario()
            scenario.steps = [.init(.emit, "a")]
            scenario.steps[0].rate = 5
            #expect(words { try scenario.check() } == "a step with a rate needs a count, or the run a duration")
            scenario.steps[0].rate = 0
            #expect(words { try scenario.check() } == "rate of step 1 has to be from 0.001 to 10000000, not 0")
            for namespaces in [[], ["room"]] {
                scenario.namespaces = namespaces
                #expect(words { try scenario.check() }.hasPrefix("namespaces has to be a list of at least one"))
            }
            (scenario.namespaces, scenario.rounds) = (nil, 0)
            #expect(words { try scenario.check() }.hasPrefix("repeat has to be from 1 to "))
        }

        @Test
        func `a table of users keeps commas and doubled quotes in quotes`() throws {
            let table = try LoadScenario.users("\u{FEFF}name,token\r\nann,\"a,b\"\r\nbob,\"\"\"c\"\"d\"\ncid,\"\"\n")
            #expect(table.columns == ["name", "token"])
            #expect(table.rows.map { $0["name"] } == ["ann", "bob", "cid"])
            #expect(table.rows.map { $0["token"] } == ["a,b", #""c"d"#, ""])
            #expect(try LoadScenario.users("a,b\n1,\"x\ny\"\n").rows == [["a": "1", "b": "x\ny"]])
        }

        @Test(arguments: [
            ("", "needs a line with the names"), ("name\n\n", "and one for each user"),
            ("a,b\n1\n", "user 1 of the table has 1 cells"),
            ("a,b\n1,2\n\"3,4\n", "a quote that is not closed"),
        ])
        func `a table of users with a mistake is refused`(text: String, sentence: String) {
            #expect { try LoadScenario.users(text) } throws: { "\($0)".contains(sentence) }
        }
    }
}
