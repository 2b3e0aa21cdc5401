@testable import LinkspanServices
import Testing

@Suite("A roster and a merge, as values")
struct PresenceValueTests {
    @Test
    func `a roster is complete again with the session, unless messages may be missing`() {
        var roster = PresenceRoster<String>()
        let isComplete = roster.resume()
        #expect(!isComplete)
        _ = roster.replace(by: ["ann"])
        for _ in 0..<2 {
            roster.pause()
            #expect(!roster.isComplete)
            let isCompleteAgain = roster.resume()
            #expect(isCompleteAgain)
        }
        roster.pause()
        roster.interrupt()
        let isCompleteAfterGap = roster.resume()
        #expect(!isCompleteAfterGap)
    }

    @Test
    func `a roster takes the answer to its latest question, unless messages were missed or a whole list came since`() {
        var roster = PresenceRoster<String>()
        let numbers = [roster.ask(), roster.ask()]
        let early = roster.answer(numbers[0], ["ann"])
        #expect(early == nil)
        roster.interrupt()
        let missed = roster.answer(numbers[1], ["ann"])
        #expect(missed == nil)
        let third = roster.ask()
        _ = roster.replace(by: ["bob"])
        let late = roster.answer(third, ["ann"])
        #expect(late == nil && roster.members == ["bob"])
    }

    @Test
    func `a roster reports a list only when it brings something new`() {
        var roster = PresenceRoster<String>()
        #expect(roster.replace(by: ["ann"])?.joined == ["ann"])
        #expect(roster.replace(by: ["ann"]) == nil)
        #expect(roster.replace(by: [])?.left == ["ann"])
        roster.interrupt()
        #expect(roster.replace(by: [])?.isComplete == true)
    }

    @Test
    func `items that go on behind an answer need no second question`() {
        var merge = HistoryMerge<String>(after: 0, isDense: true, canAsk: true)
        let question = merge.interrupt()
        for offset in [2, 3] { _ = merge.receive("\(offset)", at: offset) { _ in nil } }
        let (news, next) = merge.answer(question?.number ?? 0, [(1, "1")], lost: nil, hasMore: false) { _ in nil }
        #expect(self.text(news) == ["1", "2", "3"])
        #expect(next == nil)
    }

    @Test
    func `items that were dropped make one gap`() {
        var merge = HistoryMerge<String>(after: 0, isDense: true, canAsk: true)
        _ = merge.interrupt()
        for offset in 1...HistoryMerge<String>.heldLimit + 1 { _ = merge.receive("", at: offset) { _ in nil } }
        #expect(self.text(merge.reset(to: 20_000) { _ in nil }) == ["gap of some"])
        #expect(merge.reset(to: 30_000) { _ in nil }.isEmpty)
    }

    @Test
    func `items that were dropped are asked for once more before the held ones go out`() {
        let limit = HistoryMerge<String>.heldLimit
        var merge = HistoryMerge<String>(after: 0, isDense: true, canAsk: true)
        let first = merge.interrupt()
        for offset in 2...limit + 2 { _ = merge.receive("", at: offset) { _ in nil } }
        let (news, second) = merge.answer(first?.number ?? 0, [(1, "1")], lost: nil, hasMore: false) { _ in nil }
        #expect(self.text(news) == ["1"])
        #expect(second?.after == 1)
        let rest = (2...limit + 2).map { (offset: $0, item: "") }
        let (last, third) = merge.answer(second?.number ?? 0, rest, lost: nil, hasMore: false) { _ in nil }
        #expect(self.text(last) == rest.map(\.item))
        #expect(third == nil)
    }

    @Test
    func `an answer without anything new is the last, whatever it promises`() {
        var merge = HistoryMerge<String>(after: 5, isDense: true, canAsk: true)
        let question = merge.interrupt()
        let (news, next) = merge.answer(question?.number ?? 0, [(5, "five")], lost: nil, hasMore: true) { _ in nil }
        #expect(news.isEmpty && next == nil)
    }

    @Test
    func `a position that the server sets ends a question, also one that was lost`() {
        for isLost in [false, true] {
            var merge = HistoryMerge<String>(after: 5, isDense: true, canAsk: true)
            let question = merge.interrupt()
            if isLost { _ = merge.fail(question?.number ?? 0, isGone: true) { _ in nil } }
            #expect(merge.lacksAnswer == isLost)
            _ = merge.reset(to: 10) { _ in nil }
            #expect(!merge.lacksAnswer)
            #expect(self.text(merge.receive("eleven", at: 11) { _ in nil }.0) == ["eleven"])
        }
    }

    /// The news as text.
    private func text(_ news: [HistoryNews<String>]) -> [String] {
        news.map { news in
            switch news {
            case .item(let item): item
            case .gap(let lost): "gap of \(lost.map { "\($0)" } ?? "some")"
            }
        }
    }

    private func identity(_ item: String) -> String? { nil }

    @Test
    func `an answer that leaves one item missing before a held one leads to another request`() {
        var merge = HistoryMerge<String>(after: 5, isDense: true, canAsk: true)
        let (_, first) = merge.receive("eight", at: 8, self.identity)
        #expect(first?.after == 5)
        let (news, second) = merge.answer(
            first?.number ?? 0, [(offset: 6, item: "six")], lost: nil, hasMore: false, self.identity)
        #expect(self.text(news) == ["six"])
        #expect(second?.after == 6)
        let (last, third) = merge.answer(
            second?.number ?? 0, [(offset: 7, item: "seven")], lost: nil, hasMore: false, self.identity)
        #expect(self.text(last) == ["seven", "eight"])
        #expect(third == nil && !merge.lacksAnswer)
    }

    @Test
    func `a position that the server sets releases the items held behind it, and drops the others`() {
        var merge = HistoryMerge<String>(after: 5, isDense: true, canAsk: true)
        _ = merge.receive("seven", at: 7, self.identity)
        _ = merge.receive("nine", at: 9, self.identity)
        #expect(self.text(merge.reset(to: 7, self.identity)) == ["gap of 1", "nine"])
        #expect(merge.position == 9 && !merge.lacksAnswer)
    }

    @Test
    func `an offset that the app knows already is not held`() {
        var merge = HistoryMerge<String>(after: 5, isDense: true, canAsk: true)
        for offset in [4, 5] { #expect(merge.note(offset, self.identity).isEmpty) }
        #expect(!merge.lacksAnswer)
        _ = merge.note(6, self.identity)
        #expect(merge.position == 6)
    }

    @Test
    func `of the identities that were seen the oldest is forgotten for the newest`() {
        var merge = HistoryMerge<String>(after: 0, isDense: false, canAsk: false)
        let limit = HistoryMerge<String>.identityLimit
        let items = ["a", "a"] + (1..<limit).map(String.init) + ["a", "b", "a"]
        let counts = items.enumerated().map { merge.receive($1, at: $0 + 1) { $0 }.0.count }
        #expect(counts.prefix(2) == [1, 0] && counts.reduce(0, +) == limit + 2)
        #expect(counts.suffix(3) == [0, 1, 1], "the third is known, and the fourth not any more")
    }
}
