@testable internal import chat
internal import Foundation
internal import LinkspanTerminal
internal import Testing

/// The conversation of a `ChatView`: times, unread lines, searches, topics, calls.
@Suite
struct ConversationViewTests {
    private static let size = ChatViewTests.size(60, 8)

    private static func view(_ lines: Int, times: TimeStamps = .none) -> ChatView {
        var view = ChatView(name: "ann", room: "lobby", times: times)
        for number in 1...lines { view.hear(ChatViewTests.line(number, "line \(number)"), now: ChatViewTests.now) }
        return view
    }

    private static func press(_ view: inout ChatView, _ keys: [Key]) -> [ChatView.Request] {
        keys.flatMap { view.press($0, size: Self.size, now: ChatViewTests.now) }
    }

    private static func list(_ view: ChatView) -> [String] {
        view.frame(Self.size, now: ChatViewTests.now).list.map(\.spans.text)
    }

    private static func hint(_ view: ChatView) -> String {
        view.frame(Self.size, now: ChatViewTests.now).panel[0].text
    }

    @Test
    func `lines have the time in front, where there is room for it`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3_600))
        let times = TimeStamps.local(timeZone: zone, since: Date(timeIntervalSince1970: 59 * 60))
        var view = ChatView(name: "ann", room: "lobby", times: times)
        view.hear(ChatViewTests.line(1, String(repeating: "word ", count: 14)), now: .now)
        view.hear(ChatViewTests.line(2, "later"), now: .now + .seconds(61))
        #expect(
            Self.list(view).map { $0.replacing(#/ +$/#, with: "") } == [
                "01:59 bob: word word word word word word word word word word", "        word word word word",
                "02:00 bob: later",
            ])
        #expect(view.frame(ChatViewTests.size(39, 8), now: .now).list.last?.spans.text == "bob: later")
    }

    @Test
    func `lines that come while the view is elsewhere begin with a mark, until something is said`() {
        var view = Self.view(20)
        _ = Self.press(&view, [.pageUp])
        #expect(!Self.list(view).contains { $0.hasPrefix("── new") })
        for number in 21...22 { view.hear(ChatViewTests.line(number, "line \(number)"), now: ChatViewTests.now) }
        _ = Self.press(&view, [.escape])
        let mark = "── new " + String(repeating: "─", count: 53)
        #expect(Self.list(view) == ["bob: line 19", "bob: line 20", mark, "bob: line 21", "bob: line 22"])
        _ = Self.press(&view, [.text("x"), .enter])
        #expect(Self.list(view) == (18...22).map { "bob: line \($0)" })
        // The next time it begins anew.
        _ = Self.press(&view, [.wheelUp])
        view.hear(ChatViewTests.line(23, "line 23"), now: ChatViewTests.now)
        _ = Self.press(&view, [.wheelDown, .wheelDown])
        #expect(Self.list(view).suffix(2) == [mark, "bob: line 23"])
    }

    @Test
    func `the wheel scrolls three rows a step`() {
        var view = Self.view(20)
        _ = Self.press(&view, [.wheelUp])
        #expect(Self.list(view) == (13...17).map { "bob: line \($0)" })
        _ = Self.press(&view, [.wheelDown])
        #expect(view.frame(Self.size, now: ChatViewTests.now).isFollowing)
    }

    @Test
    func `a search shows the latest match, goes on to older ones, and ends with Esc`() {
        var view = Self.view(30)
        let seen = { (view: ChatView) in Self.list(view).joined(separator: "|") }
        #expect(Self.press(&view, [.paste("/search LINE 1"), .enter]) == [])
        #expect(Self.hint(view) == "'LINE 1': 1 of 11; Up, Down: older, newer; Esc ends")
        #expect(seen(view).contains("line 19"))
        _ = Self.press(&view, [.up])
        #expect(Self.hint(view).hasPrefix("'LINE 1': 2 of 11"))
        _ = Self.press(&view, [.paste("/search"), .enter])
        #expect(Self.hint(view).hasPrefix("'LINE 1': 3 of 11"))
        _ = Self.press(&view, [.down, .down, .down])
        #expect(Self.hint(view).hasPrefix("'LINE 1': 11 of 11"))
        #expect(seen(view).contains("bob: line 1|"))
        let marks = view.frame(Self.size, now: ChatViewTests.now).list.flatMap(\.spans)
        #expect(marks.contains { $0.role == .match && $0.text == "line 1" })
        _ = Self.press(&view, [.escape])
        #expect(Self.list(view).last == "bob: line 30" && Self.hint(view) == "")
        _ = Self.press(&view, [.paste("/search nonsense"), .enter])
        #expect(Self.list(view).last == "* nobody has said 'nonsense' here")
    }

    @Test
    func `the topic is in the status line, and a change of it is told once`() {
        var view = ChatView(name: "ann", room: "lobby")
        let status = { (view: ChatView) in view.frame(Self.size, now: ChatViewTests.now).panel[1].text }
        #expect(view.topicSentence == "lobby has no topic; /topic TEXT sets one")
        view.hear(.topic("release", room: "lobby", by: nil), now: ChatViewTests.now)
        view.hear(.topic("release", room: "lobby", by: nil), now: ChatViewTests.now)
        view.hear(.topic("mice", room: "attic", by: "bob"), now: ChatViewTests.now)
        view.hear(.topic("cats", room: "lobby", by: "bob"), now: ChatViewTests.now)
        #expect(
            Self.list(view) == [
                "* the topic: release", "* bob set the topic of attic: mice", "* bob set the topic: cats",
            ])
        #expect(status(view).hasPrefix("── lobby · cats · connecting ─"))
        #expect(view.topicSentence == "topic of lobby: cats")
        view.hear(.room("attic"), now: ChatViewTests.now)
        #expect(status(view).hasPrefix("── attic · mice ·"))
        view.hear(.topic("", room: "attic", by: "bob"), now: ChatViewTests.now)
        #expect(Self.list(view).last == "* bob removed the topic")
        #expect(status(view).hasPrefix("── attic · connecting"))
    }

    @Test
    func `a mention and a private message call, other lines and our own do not`() {
        var view = ChatView(name: "ann", room: "lobby")
        let calls = { (event: ChatFloorEvent) in
            view.hear(event, now: ChatViewTests.now)
            return view.takeCall()
        }
        #expect(!calls(ChatViewTests.line(1, "hello annabel")))
        #expect(calls(ChatViewTests.line(2, "hello Ann")))
        #expect(!calls(ChatViewTests.own(3, "ann speaks", .confirmed)))
        let direct = ChatFloorLine(
            id: "d", room: "", from: "bob", text: "psst", isOwn: false, state: .confirmed, recipient: "ann")
        #expect(calls(.line(direct)))
        let isRepeated = view.takeCall()
        #expect(!isRepeated)
        #expect(Self.list(view).last == "bob → ann: psst")
    }
}
