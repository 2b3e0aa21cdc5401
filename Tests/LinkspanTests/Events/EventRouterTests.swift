internal import LinkspanTesting
internal import Testing

@testable import Linkspan

@Suite("The event router")
struct EventRouterTests {
    private let router = RouterDriver(limits: .init(messages: 4, bytes: 100))
    private let recorder = EventRecorder()

    private func route(_ event: String, _ number: Int) {
        self.router.route(Message(event: event, payload: .json("\(number)")))
    }

    private func note(_ prefix: String) -> @Sendable (Message) -> Void {
        { [recorder] in recorder.note("\(prefix)\($0.payload.text)") }
    }

    @Test
    func `messages without a listener are held and handed over first, in order`() {
        for number in 1...3 { self.route("event", number) }
        _ = self.router.add(event: "event", self.note("a"))
        self.route("event", 4)
        #expect(self.recorder.notes == ["a1", "a2", "a3", "a4"])
    }

    @Test
    func `messages that arrive while held ones are delivered follow them`() {
        for number in 1...2 { self.route("event", number) }
        _ = self.router.add(event: "event") { [router, recorder] message in
            recorder.note(message.payload.text)
            if message.payload.text == "1" { router.route(Message(event: "event", payload: .json("3"))) }
        }
        #expect(self.recorder.notes == ["1", "2", "3"])
    }

    @Test
    func `the hold is bounded, drops the oldest, and counts what it drops`() {
        for number in 1...6 { self.route("event", number) }
        _ = self.router.add(event: "event", self.note(""))
        #expect(self.recorder.notes == ["3", "4", "5", "6"])
        #expect(self.router.router.droppedCount == 2)
        for number in 7...9 { self.route("other", number) }
        #expect(self.router.router.droppedCount == 2, "what was handed over no longer counts")
    }

    @Test
    func `a held message that goes to a listener for one makes room for the next`() {
        let large = Payload.json("\"\(String(repeating: "x", count: 60))\"")
        for _ in 1...5 {
            self.router.route(Message(event: "event", payload: large))
            _ = self.router.addOnce(event: "event", self.note(""))
        }
        #expect(self.recorder.notes.count == 5)
        #expect(self.router.router.droppedCount == 0)
    }

    @Test(arguments: [false, true])
    func `a message that is too large to be held leaves a gap of one`(isFirst: Bool) {
        if !isFirst { self.route("event", 1) }
        self.router.route(Message(event: "event", payload: .json("\"\(String(repeating: "x", count: 200))\"")))
        self.route("event", 2)
        let recorder = self.recorder
        let listener = EventListener(
            id: 1, onMark: { recorder.note("\($0 == .gap(.overflow(missed: 1)))") },
            hear: { recorder.note($0.payload.text) })
        #expect(self.router.router.add(listener, event: "event"))
        self.router.router.replay("event")
        #expect(recorder.notes == (isFirst ? ["true", "2"] : ["1", "true", "2"]))
        #expect(self.router.router.droppedCount == 1)
    }

    @Test
    func `all listeners of a message hear it, those for everything first`() {
        _ = self.router.add(event: "event", self.note("b"))
        _ = self.router.add(event: "event", self.note("c"))
        _ = self.router.add(event: nil, self.note("a"))
        for number in 1...2 { self.route("event", number) }
        #expect(self.recorder.notes == ["a1", "b1", "c1", "a2", "b2", "c2"])
    }

    @Test
    func `a listener that cancels itself hears no held message after that`() {
        for number in 1...3 { self.route("event", number) }
        let box = Later()
        box.subscription = self.router.add(event: "event") { [recorder] message in
            recorder.note(message.payload.text)
            box.cancel()
        }
        box.cancel()
        self.route("event", 4)
        #expect(self.recorder.notes == ["1", "2", "3"], "during the hand-over the subscription is not yet known")
    }

    @Test
    func `a listener cancelled by another is not called any more, held messages included`() {
        let box = Later()
        for number in 1...2 { self.route("event", number) }
        _ = self.router.add(event: "other") { _ in }
        _ = self.router.add(event: "event") { [router, recorder] message in
            recorder.note("a\(message.payload.text)")
            guard message.payload.text == "1" else { return box.cancel() }
            box.subscription = router.add(event: "event") { recorder.note("b\($0.payload.text)") }
            router.route(Message(event: "event", payload: .json("3")))
        }
        self.route("event", 4)
        #expect(self.recorder.notes == ["a1", "a2", "a3", "a4"])
    }

    @Test
    func `a listener for everything that alone hears an event makes way for others`() {
        self.router.add(event: "event") { _ in }.cancel()
        let first = self.router.add(event: nil, self.note("a"))
        for number in 1...2 { self.route("event", number) }
        let own = self.router.add(event: "event", self.note("b"))
        self.route("event", 3)
        own.cancel()
        _ = self.router.add(event: nil, self.note("c"))
        for number in 4...5 { self.route("event", number) }
        first.cancel()
        for number in 6...7 { self.route("event", number) }
        #expect(self.recorder.notes == ["a1", "a2", "a3", "b3", "a4", "c4", "a5", "c5", "c6", "c7"])
    }

    @Test
    func `a listener for everything can silence those behind it`() {
        let box = Later()
        _ = self.router.add(event: nil) { _ in box.cancel() }
        box.subscription = self.router.add(event: "event", self.note("b"))
        self.route("event", 1)
        #expect(self.recorder.notes.isEmpty)
    }

    @Test
    func `a listener that is removed by one before it does not hear the message, and those behind it do`() {
        let box = Later()
        for name in ["a", "b"] {
            _ = self.router.add(event: "event") { [recorder] _ in
                recorder.note(name)
                if name == "b" { box.cancel() }
            }
        }
        box.subscription = self.router.add(event: "event", self.note("c"))
        _ = self.router.add(event: "event", self.note("d"))
        self.route("event", 1)
        #expect(self.recorder.notes == ["a", "b", "d1"])
    }

    @Test
    func `nobody hears the rest of a message behind the end of the connection`() {
        _ = self.router.add(event: "event") { [router, recorder] _ in
            recorder.note("a")
            router.router.finish()
        }
        _ = self.router.add(event: "event", self.note("b"))
        self.route("event", 1)
        #expect(self.recorder.notes == ["a"])
    }

    @Test
    func `what is asked of a listener is let go of when it is removed`() {
        let witness = Witness()
        let router = self.router.router
        #expect(!router.add(EventListener(id: 1, isOnce: true) { _ in }, event: "event"))
        router.ask(1, "event") { [held = Held(witness)] in
            held.touch()
            return true
        }
        #expect(witness.count == 1)
        router.remove(1, event: "event")
        #expect(witness.count == 0)
    }

    @Test
    func `after the last listener has left nothing is held`() {
        let subscription = self.router.add(event: "event", self.note(""))
        subscription.cancel()
        self.route("event", 1)
        _ = self.router.add(event: "event", self.note(""))
        #expect(self.recorder.notes.isEmpty)
        #expect(self.router.router.droppedCount == 0)
    }

    @Test
    func `listeners are let go of at the end`() {
        let witness = Witness()
        _ = self.router.add(event: "event") { [held = Held(witness)] _ in held.touch() }
        _ = self.router.add(event: nil) { [held = Held(witness)] _ in held.touch() }
        #expect(witness.count == 2)
        self.router.router.finish()
        #expect(witness.count == 0)
    }

    @Test
    func `nothing is held behind the end of the connection`() {
        let router = self.router.router
        _ = self.router.add(event: nil) { [router = self.router] _ in router.router.finish() }
        _ = self.router.add(event: "event", self.note("b"))
        self.route("event", 1)
        self.route("other", 2)
        #expect(self.recorder.notes.isEmpty && router.knownEvents == 0)
    }

    @Test
    func `an event that a listener for one message has left is forgotten`() {
        self.router.addOnce(event: "event", self.note("")).cancel()
        #expect(self.router.router.knownEvents == 0)
    }

    @Test
    func `as many events without a listener are remembered as the limit says, and each that has one`() {
        let router = RouterDriver(limits: .init(events: 2))
        for event in ["a", "b"] { router.add(event: event) { _ in }.cancel() }
        #expect(router.router.knownEvents == 2)
        _ = router.add(event: "a", self.note("a"))
        for event in ["c", "d"] { router.add(event: event) { _ in }.cancel() }
        router.route(Message(event: "a", payload: .json("1")))
        #expect(self.recorder.notes == ["a1"] && router.router.knownEvents == 3)
    }

    @Test
    func `held messages that are handed over make room for those of other events`() {
        let large = Payload.json("\"\(String(repeating: "x", count: 60))\"")
        for event in ["a", "b"] {
            self.router.route(Message(event: event, payload: large))
            _ = self.router.add(event: event, self.note(event))
        }
        #expect(self.recorder.notes.count == 2 && self.router.router.droppedCount == 0)
    }

    @Test(arguments: [(256, 1), (257, 0)])
    func `a gap is remembered only of an event whose name is short`(length: Int, known: Int) {
        let large = Payload.json("\"\(String(repeating: "x", count: 200))\"")
        self.router.route(Message(event: String(repeating: "e", count: length), payload: large))
        #expect(self.router.router.knownEvents == known)
    }

    @Test
    func `a listener of every event is moved before all others`() {
        for id in UInt64(1)...3 {
            #expect(!self.router.router.add(EventListener(id: id, hear: self.note("\(id)-")), event: nil))
        }
        self.router.router.moveToFront(3)
        self.route("event", 1)
        #expect(self.recorder.notes == ["3-1", "1-1", "2-1"])
    }

    @Test
    func `a listener for one message that leaves at a gap does not get the message behind it`() {
        self.router.route(Message(event: "event", payload: .json("\"\(String(repeating: "x", count: 200))\"")))
        self.route("event", 2)
        let router = self.router
        let listener = EventListener(
            id: 1, isOnce: true, onMark: { _ in router.router.remove(1, event: "event") }, hear: self.note(""))
        #expect(router.router.add(listener, event: "event"))
        router.router.replay("event")
        #expect(self.recorder.notes.isEmpty)
        _ = router.add(event: "event", self.note("later "))
        #expect(self.recorder.notes == ["later 2"])
    }

    @Test
    func `a mark with nothing before it says nothing to a listener that comes later`() {
        _ = self.router.addOnce(event: "event", self.note(""))
        self.router.router.route(.gap(.reconnected))
        let recorder = self.recorder
        _ = self.router.addForItems(event: "event") { recorder.note("\($0)") }
        #expect(recorder.notes.isEmpty)
    }

    @Test
    func `a mark waits behind held messages that are about to be handed over`() {
        self.route("event", 1)
        let recorder = self.recorder
        let listener = EventListener(id: 1, isOnce: true, onMark: { _ in recorder.note("mark") }, hear: self.note(""))
        #expect(self.router.router.add(listener, event: "event"))
        self.router.router.route(.gap(.reconnected))
        #expect(recorder.notes.isEmpty)
        self.router.router.replay("event")
        #expect(recorder.notes == ["1"])
    }

    @Test
    func `behind the end of the connection nobody wants it to read no further`() {
        var incoming = Incoming(slowListenerLimit: .seconds(1))
        incoming.setPaused(true, by: 1)
        incoming.finish()
        #expect(!incoming.wantsPause)
    }

    @Test
    func `behind a change of the identity nobody hears the message, and a listener for one message waits on`() {
        _ = self.router.addOnce(event: "event", self.note("once"))
        _ = self.router.add(event: nil) { [router, recorder] message in
            recorder.note("all\(message.payload.text)")
            if message.payload.text == "1" { router.router.dropHeld() }
        }
        for number in 1...2 { self.route("event", number) }
        #expect(self.recorder.notes == ["all1", "all2", "once2"])
    }

    @Test
    func `behind a change of the identity no held message is handed over, and a listener for one waits on`() {
        for number in 1...3 { self.route("event", number) }
        let (router, recorder) = (self.router, self.recorder)
        let listeners = [
            EventListener(id: 1) { message in
                recorder.note("a\(message.payload.text)")
                if message.payload.text == "1" { router.router.dropHeld() }
            },
            EventListener(id: 2, isOnce: true) { recorder.note("once\($0.payload.text)") },
        ]
        // Both are there before the messages are handed over.
        for listener in listeners { #expect(router.router.add(listener, event: "event") == (listener.id == 1)) }
        router.router.replay("event")
        self.route("event", 4)
        #expect(recorder.notes == ["a1", "a4", "once4"])
    }

    @Test
    func `held messages that are about to be handed over are dropped with the identity, and leave a gap`() {
        for number in 1...3 { self.route("event", number) }
        let recorder = self.recorder
        let listener = EventListener(id: 1, onMark: { recorder.note("\($0)") }, hear: { _ in recorder.note("heard") })
        #expect(self.router.router.add(listener, event: "event"))
        self.router.router.dropHeld()
        self.router.router.replay("event")
        #expect(recorder.notes == ["\(Continuity.gap(.overflow(missed: 3)))"])
        #expect(self.router.router.droppedCount == 3)
    }
}

@Suite("Subscriptions of a connection")
struct SubscriptionTests {
    private let harness: Harness

    init() throws { self.harness = try Harness.connected() }

    @Test
    func `one that ends no longer wants reading to pause`() throws {
        let connection = self.harness.connection
        let subscription = try connection.on("event") { _ in }
        subscription.asks?(.readingPaused(true))
        #expect(try connection.ask { $0.reader.incoming.wantsPause })
        subscription.cancel()
        #expect(try !connection.ask { $0.reader.incoming.wantsPause })
    }

    @Test
    func `one for every event hears more than one message`() throws {
        let recorder = self.harness.recorder
        _ = try self.harness.connection.subscribe(to: nil, once: true, onMark: nil) { recorder.note($0.event) }
        for event in ["a", "b"] { self.harness.peers.first?.emit(event) }
        self.harness.scheduler.settle()
        #expect(recorder.notes == ["a", "b"])
    }
}

@Suite("A backlog of messages")
struct EventBacklogTests {
    private func backlog(_ texts: String...) -> EventBacklog {
        var backlog = EventBacklog()
        for text in texts { backlog.append(Message(event: "event", payload: .json(text))) }
        return backlog
    }

    @Test
    func `of several reconnects at one place a gap counts`() {
        var hole = EventBacklog.Hole()
        for mark in [Continuity.continuous, .gap(.reconnected), .continuous] { hole.mark(mark) }
        #expect(hole.marks == [.gap(.reconnected)])
    }

    @Test
    func `the place of the only message keeps what lay before and behind it`() {
        var backlog = EventBacklog()
        backlog.miss()
        backlog.append(Message(event: "event", payload: .json("1")))
        backlog.mark(.gap(.reconnected))
        backlog.dropOldest()
        let end = backlog.takeEnd()
        #expect(end == EventBacklog.Hole(missed: 2, reconnect: .gap(.reconnected)))
        #expect(backlog.isEmpty && backlog.byteCount == 0)
    }

    @Test
    func `messages that are put back are counted again`() {
        var (backlog, later) = (self.backlog("1", "22"), self.backlog("333"))
        let (count, sum) = (backlog.byteCount, backlog.byteCount + later.byteCount)
        if let first = backlog.popFirst() { backlog.putBack(first) }
        #expect(backlog.byteCount == count)
        later.putBack(backlog)
        #expect(later.byteCount == sum && later.entries.map(\.message.payload.text) == ["1", "22", "333"])
    }
}

@Suite("Listeners of everything")
struct CatchAllTests {
    private let harness = PoolHarness()
    private let recorder = EventRecorder()

    private func connect() throws -> ConnectionHandler {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        return handler
    }

    private func hear(_ event: String) {
        self.harness.transport.peers.first?.emit(event)
        self.harness.scheduler.settle()
    }

    @Test
    func `one that is to be first is called before those there are, those of other holders included`() throws {
        let (one, other) = (try self.connect(), try self.connect())
        let recorder = self.recorder
        try one.on("event") { _ in recorder.note("event") }
        try one.onAny { _ in recorder.note("a") }
        try other.onAny { _ in recorder.note("b") }
        try other.onAny(first: true) { _ in recorder.note("c") }
        try one.onAny(first: true) { _ in recorder.note("d") }
        try one.onAny { _ in recorder.note("e") }
        self.hear("event")
        #expect(recorder.notes == ["d", "c", "a", "b", "e", "event"])
    }

    @Test
    func `of what is sent, too`() throws {
        let (one, other) = (try self.connect(), try self.connect())
        let recorder = self.recorder
        try one.onAnyOutgoing { _ in recorder.note("a") }
        try other.onAnyOutgoing { _ in recorder.note("b") }
        try one.onAnyOutgoing(first: true) { _ in recorder.note("c") }
        try one.send("event")
        self.harness.scheduler.settle()
        #expect(recorder.notes == ["c", "a", "b"])
    }

    @Test
    func `a holder lists its own in the order of the calls, and ends one or all of them`() throws {
        let (one, other) = (try self.connect(), try self.connect())
        let recorder = self.recorder
        let a = try one.onAny { _ in recorder.note("a") }
        let b = try one.onAny { _ in recorder.note("b") }
        let c = try one.onAny(first: true) { _ in recorder.note("c") }
        let event = try one.on("event") { _ in recorder.note("event") }
        let outgoing = try one.onAnyOutgoing { _ in }
        let firstOutgoing = try one.onAnyOutgoing(first: true) { _ in }
        _ = one.onStateChange { _ in }
        try other.onAny { _ in recorder.note("other") }
        #expect(one.listeners(to: nil).map(ObjectIdentifier.init) == [c, a, b].map(ObjectIdentifier.init))
        #expect(one.listeners(to: "event").map(ObjectIdentifier.init) == [ObjectIdentifier(event)])
        #expect(
            one.outgoingListeners.map(ObjectIdentifier.init) == [firstOutgoing, outgoing].map(ObjectIdentifier.init))
        a.cancel()
        #expect(one.listeners(to: nil).map(ObjectIdentifier.init) == [c, b].map(ObjectIdentifier.init))
        for listener in one.listeners(to: nil) { listener.cancel() }
        self.hear("event")
        #expect(recorder.notes == ["other", "event"])
        one.release()
        #expect(one.listeners(to: "event").isEmpty && one.outgoingListeners.isEmpty)
    }
}
