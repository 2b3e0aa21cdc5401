internal import Linkspan
internal import LinkspanBackEnds
internal import LinkspanServices
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// The inspector while it runs: its loop, its port, its pages, and the recording.
///
/// Everything but the journal lives on the loop.
final class InspectorRun: RequestServer, ServerClock, Sendable {
    fileprivate struct State {
        var options: InspectorOptions
        var recorder = InspectorRecorder(now: .now)
        var subject: InspectionSubject?
        var listener: (any ByteListener)?
        var access: InspectorAccess?
        var connections = Places<ServerConnection>(limit: InspectorRun.maximumConnections)
        var feeds: [ObjectIdentifier: LiveFeed] = [:]
        /// The connections whose executors have been asked and have not answered, since when.
        var asked: [UInt64: ContinuousClock.Instant] = [:]
        /// The connection after which the next look continues.
        var looked: UInt64 = 0
        var nextSecond = ContinuousClock.now
        var nextServices = ContinuousClock.now
        var timer: (any ScheduledWork)?
    }

    /// The time between two batches of a page.
    static let interval = Duration.milliseconds(100)
    /// The time between two looks while there is no page.
    static let idleInterval = Duration.seconds(1)
    /// The time after which an executor is asked again.
    private static let patience = Duration.seconds(5)
    /// The most connections that one look covers.
    private static let looks = 256
    /// The most messages of one connection that are sampled between two looks.
    private static let sample = 32
    /// The bytes of a payload that are shown, if configuration asks for any.
    private static let excerptBytes = 256
    /// The most TCP connections at a time.
    fileprivate static let maximumConnections = 32
    /// The most bytes of a message from a page.
    static let maximumMessageBytes = 4 * 1024

    let loop: any NetworkLoop
    /// The latest events, for the report.
    let journal = JournalService(options: JournalService.Options(capacity: 2_048))
    private let announce: @Sendable (String) -> Void
    private let state: Confined<State>

    init(_ options: InspectorOptions, announce: @escaping @Sendable (String) -> Void) {
        self.loop = NetworkBackEnd.standard.makeLoop(
            name: "linkspan-inspector", idleLimit: .seconds(5), listens: true)
        self.announce = announce
        self.state = Confined(State(options: options), to: self.loop)
    }

    /// Takes the objects to inspect.
    func inspect(_ subject: InspectionSubject) {
        self.loop.execute {
            self.state.value.subject = subject
            self.state.value.recorder.note(subject.settings, transports: subject.transports)
        }
    }

    // MARK: Start and stop

    /// Begins to listen; returns the port.
    func start() async throws(ByteStreamError) -> Int {
        try await self.loop.perform { self.listen() }.get()
    }

    private func listen() -> Result<Int, ByteStreamError> {
        Result { () throws(ByteStreamError) in
            let options = self.state.value.options
            let request = ListenRequest(address: "127.0.0.1", port: options.port)
            let listener = try self.loop.listen(request) { [weak self] stream in self?.accept(stream) }
            self.state.value.listener = listener
            self.state.value.access = InspectorAccess(port: listener.port, standing: options.token)
            self.invite()
            self.tick()
            return listener.port
        }
    }

    /// Says goodbye to the pages and gives the port up.
    func stop() async {
        await withCheckedContinuation { continuation in
            self.loop.execute { self.close { continuation.resume() } }
        }
    }

    private func close(_ onClosed: @escaping () -> Void) {
        self.state.value.timer?.cancel()
        (self.state.value.timer, self.state.value.access) = (nil, nil)
        let listener = self.state.value.listener.take()
        for connection in self.state.value.connections.all {
            connection.close(.goingAway, reason: "the inspector stops")
        }
        guard let listener else { return onClosed() }
        listener.close(onClosed)
    }

    /// A URL that opens the page once; nil unless it runs.
    var url: String? {
        get async { await self.loop.perform { self.state.value.access?.invite(now: .now) } }
    }

    private func invite() { if let url = self.state.value.access?.invite(now: .now) { self.announce(url) } }

    private func accept(_ stream: any ByteStream) -> ServerConnection? {
        let connection = ServerConnection(
            stream: stream, clock: self, limits: .init(messageBytes: Self.maximumMessageBytes), server: self)
        // A client that opens connections and sends nothing must not lock out others.
        let (isTaken, former) = self.state.value.connections.add(connection)
        former?.drop()
        guard isTaken else { return nil }
        connection.begin()
        return connection
    }

    func remove(_ connection: ServerConnection) { self.state.value.connections.remove(connection) }
}

// MARK: - Events

extension InspectorRun {
    /// Records an event of a family.
    func record<Event: LifecycleEvent>(
        _ event: Stamped<Event>, connection: UInt64?, kind: String,
        _ note: @escaping @Sendable (inout InspectorRecorder) -> Void
    ) {
        let text = JournalService.line(for: event.event)
        self.loop.execute {
            note(&self.state.value.recorder)
            self.state.value.recorder.note(text, kind: kind, connection: connection, at: event.time)
        }
    }
}

// MARK: - Looking

extension InspectorRun {
    /// Inspects everything, sends changes to the pages, and schedules the next look.
    private func tick() {
        let now = ContinuousClock.now
        let feeds = self.state.value.feeds.values
        self.look(now: now)
        for feed in feeds where feed.hasRoom { self.sendBatch(to: feed, now: now) }
        self.lookLater(after: feeds.isEmpty ? Self.idleInterval : Self.interval)
    }

    private func lookLater(after interval: Duration) {
        self.state.value.timer?.cancel()
        guard self.state.value.listener != nil else { return }
        self.state.value.timer = self.loop.scheduleLocally(after: interval) { [weak self] in self?.tick() }
    }

    /// Looks at once, since the latest look may be a second old.
    private func refresh() {
        self.state.value.nextServices = .now
        self.look(now: .now)
    }

    private func look(now: ContinuousClock.Instant) {
        guard let subject = self.state.value.subject else { return }
        let present = subject.manager?.inspected ?? []
        let ids = Set(present.map(\.id))
        self.state.value.recorder.keep(ids, of: present.count)
        self.state.value.asked = self.state.value.asked.filter { ids.contains($0.key) }
        let behind = self.state.value.looked
        let start = present.firstIndex { $0.id > behind } ?? 0
        let chosen = (present[start...] + present[..<start]).prefix(Self.looks)
        for connection in chosen { self.look(at: connection, now: now) }
        if let last = chosen.last { self.state.value.looked = last.id }
        if now >= self.state.value.nextServices, let services = subject.services {
            self.state.value.recorder.note(services.inspected, now: now)
            self.state.value.nextServices = now + .milliseconds(500)
        }
        guard now >= self.state.value.nextSecond else { return }
        self.state.value.recorder.closePoint(memory: ProcessMemory.resident, mark: .mark, now: now)
        self.state.value.nextSecond = max(self.state.value.nextSecond + .seconds(1), now + .milliseconds(500))
    }

    private func look(at connection: InspectedConnection, now: ContinuousClock.Instant) {
        let (id, status) = (connection.id, connection.status)
        self.state.value.recorder.note(
            id, status, explanation: status.explanation, holders: connection.holders, now: now)
        // An executor that is gone never answers.
        if let since = self.state.value.asked[id], since.duration(to: now) < Self.patience { return }
        self.state.value.asked[id] = now
        let room = self.state.value.feeds.isEmpty ? 0 : Self.sample
        let excerptBytes = self.state.value.options.showsPayloads ? Self.excerptBytes : 0
        let loop = self.loop
        connection.read { [weak self] reading, probe in
            let reporter = probe as? ConnectionReporter
            let frames = reporter?.meter.takeSample(room: room, excerptBytes: excerptBytes)
            let counts = reporter?.meter.counts
            loop.execute { [weak self] in
                guard let self else { return }
                self.state.value.asked[id] = nil
                self.state.value.recorder.note(id, reading, counts, frames ?? [], now: .now)
            }
        }
    }
}

// MARK: - Requests

extension InspectorRun {
    var commonFields: [(name: String, value: String)] {
        [
            ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ]
    }

    func serve(_ request: HTTPRequest, on connection: ServerConnection) {
        guard let invitations = self.state.value.access?.invitations,
            let decision = self.state.value.access?.decide(request, now: .now)
        else { return connection.drop() }
        if decision.showsRecording { self.refresh() }
        self.answer(decision, request, on: connection)
        if self.state.value.access?.invitations != invitations { self.invite() }
    }

    private func answer(
        _ decision: InspectorAccess.Decision, _ request: HTTPRequest, on connection: ServerConnection
    ) {
        switch decision {
        case .refused(let status, let message):
            connection.respond(.refusal(status: status, message))
        case .page(let key, let cookie):
            var response = InspectorPage.response(key: key, port: self.state.value.listener?.port ?? 0)
            if !cookie.isEmpty { response.fields.append(("Set-Cookie", cookie)) }
            connection.respond(response)
        case .snapshot:
            let snapshot = JSONText.of(self.state.value.recorder.everything(now: .now))
            connection.respond(Self.response("application/json", Array(snapshot)))
        case .report:
            var response = Self.response("text/plain; charset=utf-8", Array(self.report.utf8))
            response.fields.append(("Content-Disposition", "attachment; filename=\"linkspan-report.txt\""))
            connection.respond(response)
        case .feed(let key, let subprotocol):
            let feed = LiveFeed(connection) { command, feed in self.perform(command, for: feed) }
            guard connection.upgrade(request, subprotocols: subprotocol.map { [$0] } ?? [], owner: feed) else { return }
            let options = self.state.value.options
            feed.send([
                "hello": Hello(
                    faults: options.allowsFaults, payloads: options.showsPayloads, session: key)
            ])
            self.sendBatch(to: feed, now: .now)
            self.state.value.feeds[ObjectIdentifier(feed)] = feed
            self.lookLater(after: Self.interval)
        }
    }

    private static func response(_ type: String, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: 200, fields: [("Content-Type", type)], body: body)
    }

    /// The report for a bug report: the journal, and all that is known of each connection.
    private var report: String {
        let connections = self.state.value.subject?.manager?.inspected ?? []
        // Messages are read as totals, not as events.
        let totals = self.state.value.recorder.totals
        let journal = self.journal.report { summary in
            summary.sent = Int(clamping: totals.sent)
            summary.acknowledged = Int(clamping: totals.answered)
            summary.received = Int(clamping: totals.received)
        }
        return ([journal] + connections.map { "connection \($0.id): \($0.status)" })
            .joined(separator: "\n\n") + "\n"
    }

    private func sendBatch(to feed: LiveFeed, now: ContinuousClock.Instant) {
        feed.send(self.state.value.recorder.batch(for: &feed.cursor, now: now))
    }
}

/// The beginning of a feed.
private struct Hello: Encodable {
    var version = 1
    let faults: Bool
    let payloads: Bool
    let session: String?
}

/// An error for the person at a page.
private struct Notice: Encodable {
    let text: String
    var error = true
}

// MARK: - Commands

extension InspectorRun {
    private func perform(_ command: PageCommand?, for feed: LiveFeed) {
        guard let command else { return self.state.value.feeds[ObjectIdentifier(feed)] = nil }
        guard !command.isFault || self.state.value.options.allowsFaults else {
            return feed.send(["notice": Notice(text: "faults are off; set services.inspector.faults to true")])
        }
        do throws(LinkspanError) {
            try self.perform(command, of: &feed.cursor)
        } catch {
            feed.send(["notice": Notice(text: error.message)])
        }
    }

    private func perform(_ command: PageCommand, of cursor: inout PageCursor) throws(LinkspanError) {
        let subject = self.state.value.subject
        switch command {
        case .select(let id): cursor.selected = id
        case .provoke(let id, let fault):
            guard let connection = subject?.manager?.inspected.first(where: { $0.id == id }) else {
                throw LinkspanError(.wrongState, "there is no connection \(id)")
            }
            connection.provoke(fault)
            self.note("inspector: \(fault.words)", connection: id)
        case .path(let isLost):
            subject?.manager?.signal(isLost ? .pathLost : .pathAvailable)
            self.note(isLost ? "inspector: network path lost" : "inspector: network path restored")
        case .move(let name):
            guard let subject else { return }
            try subject.move(name)
            self.note("inspector: move to transport \(name)")
        }
    }

    private func note(_ text: String, connection: UInt64? = nil) {
        self.state.value.recorder.note(text, kind: "fault", connection: connection, at: .now)
    }
}

extension ConnectionFault {
    /// The fault in the words of the time line.
    fileprivate var words: String {
        switch self {
        case .dropLink: "link dropped"
        case .pauseReading: "reading paused"
        case .resumeReading: "reading resumed"
        case .refuseCredentialsOnce: "the next attempt is refused"
        }
    }
}
