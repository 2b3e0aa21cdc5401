@testable internal import chat
internal import LinkspanTerminal
internal import TestedPrograms
internal import Testing

@Suite
struct InteractiveSessionTests {
    /// Runs a session while a test plays the other parts; ends it if they do not.
    private static func run(
        _ floor: FakeFloor, _ terminal: FakeTerminal, patience: Duration = .seconds(3_600),
        _ play: @escaping @Sendable () async throws -> Void
    ) async throws -> InteractiveSession.Ending {
        let session = InteractiveSession(
            name: "ann", room: "lobby", floor: floor, terminal: terminal, style: Style(hasColours: true),
            settings: InterfaceSettings(showsTimes: false), patience: patience)
        async let ending = session.run()
        try await play()
        return await ending
    }

    private static func next(_ requests: AsyncStream<String>, _ count: Int) async -> [String] {
        var found: [String] = []
        for await request in requests where request != "typing" {
            found.append(request)
            if found.count == count { break }
        }
        return found
    }

    @Test(.timeLimit(.minutes(1)))
    func `commands reach the floor in order`() async throws {
        let (floor, terminal) = (FakeFloor(), FakeTerminal(columns: 60, rows: 20))
        let ending = try await Self.run(floor, terminal) {
            terminal.type("hello\r/who\r/explain\r/transport websocket\r/transport nowhere\r")
            terminal.type("/offline\r/online\r/nick eve\r")
            terminal.type("/join attic\r/msg bob hi\r/topic cats\r/leave\r/leave\rlost\r/help\r")
            terminal.type("/quit\r")
            #expect(
                await Self.next(floor.requests, 13) == [
                    "say hello", "who", "explain", "transport websocket", "transport nowhere", "offline", "online",
                    "nick eve", "join attic", "msg bob hi", "topic cats", "leave attic", "drain",
                ])
        }
        #expect(ending == .finished(undelivered: 0))
    }

    @Test(.timeLimit(.minutes(1)))
    func `results of commands are on the screen`() async throws {
        let (floor, terminal) = (FakeFloor(), FakeTerminal(columns: 60, rows: 20))
        let ending = try await Self.run(floor, terminal) {
            terminal.type("/who\r")
            // The answer is an event, which may come behind what is typed next.
            _ = try #require(await terminal.wait(for: "  here: ann, bob"))
            terminal.type("/explain\r/transport nowhere\r/join attic\r/leave\rlost\r")
            _ = try #require(await terminal.wait(for: "* join a room first"))
            // That the room is left is an event, too.
            let screen = try #require(await terminal.wait(for: "── connecting ─"))
            #expect(
                screen.lines.prefix(5) == [
                    "  here: ann, bob", "  it is up", "  because it was asked to be", "* there is no way",
                    "* join a room first: /join ROOM",
                ])
            #expect(screen.lines[18].hasPrefix("── connecting ─"))
            terminal.type("\u{4}")
        }
        #expect(ending == .finished(undelivered: 0))
    }

    @Test(.timeLimit(.minutes(1)))
    func `a name in the answer to who passes neither for several nor for another line`() async throws {
        let floor = FakeFloor(names: ["ann, bob", "eve\n* disconnected", "zoe"])
        let terminal = FakeTerminal(columns: 60, rows: 20)
        let ending = try await Self.run(floor, terminal) {
            terminal.type("/who\r")
            let screen = try #require(await terminal.wait(for: "zoe"))
            #expect(screen.lines[0] == "  here: \"ann, bob\", \"eve\u{FFFD}* disconnected\", zoe")
            terminal.type("\u{4}")
        }
        #expect(ending == .finished(undelivered: 0))
    }

    @Test(.timeLimit(.minutes(1)), arguments: 0...4)
    func `the terminal is given back, however the session ends`(way: Int) async throws {
        let (floor, terminal) = (FakeFloor(undelivered: 2), FakeTerminal(columns: 40, rows: 10))
        let ending = try await Self.run(floor, terminal) {
            switch way {
            case 0: terminal.type("\u{3}")
            case 1: terminal.type("\u{4}")
            case 2: terminal.source.yield(.ended)
            case 3: terminal.source.yield(.terminated(signal: 15))
            default: floor.source.yield(.connection(.failed("the name is taken"), sentence: nil))
            }
        }
        switch way {
        case 3: #expect(ending == .terminated(signal: 15))
        case 4: #expect(ending == .failed("the name is taken"))
        default: #expect(ending == .finished(undelivered: 2))
        }
        var modes: [String] = []
        for await mode in terminal.modes { modes.append(mode) }
        #expect(modes == ["enter", "restore"])
        let screen = try #require(await terminal.wait(for: ""))
        #expect(screen.modes == [25: true, 2_004: false, 7: true, 1_000: false, 1_006: false])
        #expect(screen.isWhole)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a second interrupt leaves at once, and unconfirmed lines are counted`() async throws {
        let (floor, terminal) = (FakeFloor(isPatient: true), FakeTerminal(columns: 70, rows: 10))
        let ending = try await Self.run(floor, terminal) {
            floor.source.yield(.waiting(3))
            _ = try #require(await terminal.wait(for: "3 messages waiting"))
            terminal.type("\u{3}")
            _ = try #require(await terminal.wait(for: "Ctrl-C leaves at once"))
            terminal.type("\u{3}")
        }
        #expect(ending == .finished(undelivered: 3))
    }

    @Test(.timeLimit(.minutes(1)))
    func `lines that never came to the floor are counted as lost`() async throws {
        let (floor, terminal) = (FakeFloor(isPatient: true, stalled: "one"), FakeTerminal(columns: 70, rows: 10))
        let ending = try await Self.run(floor, terminal) {
            terminal.type("one\rtwo\r/msg bob three\r/who\r\u{3}")
            _ = try #require(await terminal.wait(for: "Ctrl-C leaves at once"))
            terminal.type("\u{3}")
        }
        #expect(ending == .finished(undelivered: 0, lost: 3))
    }

    @Test(.timeLimit(.minutes(1)))
    func `leaving waits no longer than its limit`() async throws {
        let (floor, terminal) = (FakeFloor(isPatient: true), FakeTerminal(columns: 70, rows: 10))
        let ending = try await Self.run(floor, terminal, patience: .milliseconds(-900)) {
            floor.source.yield(.waiting(1))
            _ = try #require(await terminal.wait(for: "1 message waiting"))
            terminal.type("\u{3}")
        }
        #expect(ending == .finished(undelivered: 1))
    }

    @Test(.timeLimit(.minutes(1)))
    func `time alone changes the screen: ESC becomes a key, a countdown goes on`() async throws {
        let (floor, terminal) = (FakeFloor(), FakeTerminal(columns: 60, rows: 10))
        _ = try await Self.run(floor, terminal) {
            // Which seconds are shown on the way depends on how busy the machine is; the status line's own tests have
            // them.
            floor.source.yield(.connection(.reconnecting(at: .now + .milliseconds(2_200)), sentence: nil))
            _ = try #require(await terminal.wait(for: "reconnecting in "))
            _ = try #require(await terminal.wait(for: "reconnecting ─"))
            for number in 1...30 { floor.source.yield(ChatViewTests.line(number, "line \(number)")) }
            _ = try #require(await terminal.wait(for: "line 30"))
            terminal.type("\u{1B}[5~")
            _ = try #require(await terminal.wait(for: "below, Page Down"))
            terminal.type("\u{1B}")
            let screen = try #require(await terminal.wait(for: "line 30"))
            #expect(!screen.text.contains("Page Down"))
            terminal.type("\u{3}")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `output on standard error appears in the conversation`() async throws {
        let (floor, terminal) = (FakeFloor(), FakeTerminal(columns: 60, rows: 10))
        _ = try await Self.run(floor, terminal) {
            terminal.source.yield(.stray("warning: \u{1B}[31mdisk full"))
            _ = try #require(await terminal.wait(for: "* warning: \u{FFFD}[31mdisk full"))
            terminal.type("\u{3}")
        }
    }
}
