@testable internal import chat
internal import LinkspanTerminal
internal import TestedPrograms

/// A floor that notes what it is asked for and says what the test wants.
actor FakeFloor: ChatFloor {
    nonisolated let events: AsyncStream<ChatFloorEvent>
    nonisolated let source: AsyncStream<ChatFloorEvent>.Continuation
    /// What was asked for, in order.
    nonisolated let requests: AsyncStream<String>
    private let request: AsyncStream<String>.Continuation
    /// What `drain` answers, and whether it waits for cancellation before.
    private let undelivered: Int
    private let isPatient: Bool
    /// The names of everybody in the room.
    private let names: [String]
    /// A line that is never taken.
    private let stalled: String?
    private(set) var room: String? = "lobby"

    init(undelivered: Int = 0, isPatient: Bool = false, names: [String] = ["ann", "bob"], stalled: String? = nil) {
        (self.events, self.source) = AsyncStream.makeStream()
        (self.requests, self.request) = AsyncStream.makeStream()
        (self.undelivered, self.isPatient, self.names, self.stalled) = (undelivered, isPatient, names, stalled)
    }

    func say(_ text: String) async throws(ChatRefusal) {
        try self.note("say \(text)")
        if text == self.stalled { try? await Task.sleep(for: .seconds(3_600)) }
        let line = ChatFloorLine(
            id: text, room: "lobby", from: "ann", text: text, isOwn: true, state: .confirmed)
        self.source.yield(.line(line))
    }

    func join(_ room: String) async throws(ChatRefusal) {
        try self.note("join \(room)")
        self.enter(room)
    }

    func leave(_ room: String) async throws(ChatRefusal) {
        try self.note("leave \(room)")
        self.enter(nil)
    }

    func who() async throws(ChatRefusal) {
        try self.note("who")
        self.source.yield(.present(self.names, room: "lobby"))
    }

    func typing() async { try? self.note("typing") }

    func nick(_ name: String) async throws(ChatRefusal) { try self.note("nick \(name)") }

    func message(_ name: String, _ text: String) async throws(ChatRefusal) { try self.note("msg \(name) \(text)") }

    func setTopic(_ topic: String) async throws(ChatRefusal) { try self.note("topic \(topic)") }

    func switchTransport(_ name: String, url: String?) async throws(ChatRefusal) {
        try self.note("transport \(name)\(url.map { " \($0)" } ?? "")")
    }

    func goOffline() async throws(ChatRefusal) { try self.note("offline") }

    func goOnline() async throws(ChatRefusal) { try self.note("online") }

    func explain() async -> String {
        try? self.note("explain")
        return "it is up\nbecause it was asked to be"
    }

    func outbox() async throws(ChatRefusal) -> String {
        try self.note("outbox")
        return "k waiting"
    }

    func drain(within limit: Duration) async -> Int {
        try? self.note("drain")
        if self.isPatient { try? await Task.sleep(for: .seconds(3_600)) }
        return self.undelivered
    }

    private func enter(_ room: String?) {
        self.room = room
        self.source.yield(.room(room))
    }

    private func note(_ text: String) throws(ChatRefusal) {
        self.request.yield(text)
        if text.hasSuffix("nowhere") { throw ChatRefusal(sentence: "there is no way") }
    }
}

/// A terminal whose screen a test can read.
actor FakeTerminal: Terminal {
    nonisolated let inputs: AsyncStream<TerminalInput>
    nonisolated let source: AsyncStream<TerminalInput>.Continuation
    /// The screen after each output.
    nonisolated let screens: AsyncStream<TerminalEmulator>
    private let screen: AsyncStream<TerminalEmulator>.Continuation
    /// "enter" and "restore", as they came.
    nonisolated let modes: AsyncStream<String>
    private let mode: AsyncStream<String>.Continuation
    private var emulator: TerminalEmulator
    private let dimensions: TerminalSize

    init(columns: Int, rows: Int) {
        (self.inputs, self.source) = AsyncStream.makeStream()
        (self.screens, self.screen) = AsyncStream.makeStream()
        (self.modes, self.mode) = AsyncStream.makeStream()
        self.emulator = TerminalEmulator(columns: columns, rows: rows)
        self.dimensions = TerminalSize(columns: columns, rows: rows)
    }

    nonisolated func size() -> TerminalSize { self.dimensions }

    nonisolated func enter() { self.mode.yield("enter") }

    nonisolated func restore() {
        self.mode.yield("restore")
        self.mode.finish()
    }

    nonisolated func suspend() { self.mode.yield("suspend") }

    func write(_ text: String) async {
        self.emulator.feed(text.utf8)
        self.screen.yield(self.emulator)
    }

    /// Somebody types.
    nonisolated func type(_ text: String) { self.source.yield(.bytes(Array(text.utf8))) }

    /// Waits for a screen with a text on it.
    func wait(for text: String) async -> TerminalEmulator? {
        if self.emulator.text.contains(text) { return self.emulator }
        for await screen in self.screens where screen.text.contains(text) { return screen }
        return nil
    }
}
