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
final class InspectorRun: InspectorConnectionDelegate, Sendable {
    fileprivate struct State {
        var options: InspectorOptions
        var recorder = InspectorRecorder(now: .now)
        var subject: InspectionSubject?
        var listener: (any ByteListener)?
        var access: InspectorAccess?
        var connections: [ObjectIdentifier: InspectorConnection] = [:]
        /// The connections whose executors have been asked and have not answered, since when.
        var asked: [UInt64: ContinuousClock.Instant] = [:]
        /// The connection after which the next look continues.
        var looked: UInt64 = 0
        var nextSecond = ContinuousClock.now
        var nextServices = ContinuousClock.now
        var timer: (any ScheduledWork)?
        var isPathLost = false
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
    private static let maximumConnections = 32

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

    /// Ends a run that was not stopped.
    deinit { self.loop.shutdown() }

    /// Changes the state in place.
    fileprivate func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try body(&self.state.value)
    }

    /// Takes the objects to inspect.
    func inspect(_ subject: InspectionSubject) {
        self.loop.execute {
            self.withState { state in
                state.subject = subject
                state.recorder.note(subject.settings, transports: subject.transports)
            }
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
            self.withState { state in
                state.listener = listener
                state.access = InspectorAccess(port: listener.port, standing: options.token)
            }
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
        let (listener, connections) = self.withState { state in
            defer {
                state.timer?.cancel()
                (state.timer, state.listener, state.access) = (nil, nil, nil)
            }
            return (state.listener, Array(state.connections.values))
        }
        for connection in connections { connection.close(.goingAway, reason: "the inspector stops") }
        guard let listener else { return onClosed() }
        listener.close(onClosed)
    }

    /// The URL that opens the page once; nil unless it runs.
    var url: String? {
        get async { await self.loop.perform { self.invitationURL } }
    }

    private var invitationURL: String? {
        let state = self.state.value
        guard let listener = state.listener, let access = state.access else { return nil }
        return "http://127.0.0.1:\(listener.port)/?token=\(access.invitation)"
    }

    private func invite() { if let url = self.invitationURL { self.announce(url) } }

    private func accept(_ stream: any ByteStream) -> InspectorConnection? {
        let connection = InspectorConnection(stream: stream, delegate: self)
        let others = self.state.value.connections.values
        if others.count >= Self.maximumConnections {
            // A client that opens connections and sends nothing must not lock out others.
            let oldest = others.filter { !$0.isFeed }.min { $0.began < $1.began }
            guard let oldest else { return nil }
            oldest.abort()
            self.remove(oldest)
        }
        self.withState { $0.connections[ObjectIdentifier(connection)] = connection }
        return connection
    }

    func remove(_ connection: InspectorConnection) {
        self.withState { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}

// MARK: - Events

extension InspectorRun {
    /// Records an event of a family.
    func record<Event: LifecycleEvent>(
        _ event: Stamped<Event>, connection: UInt64? = nil, kind: String,
        _ note: @escaping @Sendable (inout InspectorRecorder) -> Void = { _ in }
    ) {
        let text = JournalService.line(for: event.event)
        self.loop.execute {
            self.withState { state in
                note(&state.recorder)
                state.recorder.note(text, kind: kind, connection: connection, at: event.time)
            }
        }
    }
}

// MARK: - Looking

extension InspectorRun {
    /// Inspects everything, sends changes to the pages, and schedules the next look.
    private func tick() {
        let now = ContinuousClock.now
        let pages = self.state.value.connections.values.filter(\.isFeed)
        self.look(now: now, isWatched: !pages.isEmpty)
        for page in pages where page.hasRoom { self.feed(page, now: now) }
        let interval = pages.isEmpty ? Self.idleInterval : Self.interval
        self.schedule(after: interval)
    }

    private func schedule(after interval: Duration) {
        let timer = self.loop.scheduleLocally(after: interval) { [weak self] in self?.tick() }
        self.withState { state in
            state.timer?.cancel()
            state.timer = timer
        }
        if self.state.value.listener == nil { timer.cancel() }
    }

    /// Looks at once, since the latest look may be a second old.
    private func refresh() {
        self.withState { $0.nextServices = .now }
        self.look(now: .now, isWatched: self.state.value.connections.values.contains(where: \.isFeed))
    }

    private func look(now: ContinuousClock.Instant, isWatched: Bool) {
        guard let subject = self.state.value.subject else { return }
        let present = subject.manager?.inspected ?? []
        let ids = Set(present.map(\.id))
        self.withState { state in
            state.recorder.keep(ids, of: present.count)
            state.asked = state.asked.filter { ids.contains($0.key) }
        }
        let behind = self.state.value.looked
        let start = present.firstIndex { $0.id > behind } ?? 0
        let chosen = (present[start...] + present[..<start]).prefix(Self.looks)
        for connection in chosen { self.look(at: connection, now: now, isWatched: isWatched) }
        if let last = chosen.last { self.withState { $0.looked = last.id } }
        self.withState { state in
            if now >= state.nextServices, let services = subject.services {
                state.recorder.note(services.inspected, now: now)
                state.nextServices = now + .milliseconds(500)
            }
            guard now >= state.nextSecond else { return }
            state.recorder.closePoint(memory: ProcessMemory.resident, mark: .mark, now: now)
            state.nextSecond = max(state.nextSecond + .seconds(1), now + .milliseconds(500))
        }
    }

    private func look(at connection: InspectedConnection, now: ContinuousClock.Instant, isWatched: Bool) {
        let (id, status) = (connection.id, connection.status)
        let mustAsk = self.withState { state in
            state.recorder.note(
                id, status, explanation: status.explanation, holders: connection.holders, now: now)
            // An executor that is gone never answers.
            if let since = state.asked[id], since.duration(to: now) < Self.patience { return false }
            state.asked[id] = now
            return true
        }
        guard mustAsk else { return }
        let excerptBytes = self.state.value.options.showsPayloads ? Self.excerptBytes : 0
        let loop = self.loop
        connection.read { [weak self] reading, probe in
            let metering = probe as? any ConnectionMetering
            let frames = metering?.meter.takeSample(room: isWatched ? Self.sample : 0, excerptBytes: excerptBytes)
            let counts = metering?.meter.counts
            loop.execute { [weak self] in
                self?.withState { state in
                    state.asked[id] = nil
                    state.recorder.note(id, reading, counts, frames ?? [], now: .now)
                }
            }
        }
    }
}

// MARK: - Requests

extension InspectorRun {
    func serve(_ request: HTTPRequest, on connection: InspectorConnection) {
        guard let invitations = self.state.value.access?.invitations,
            let decision = self.withState({ $0.access?.decide(request) })
        else { return connection.abort() }
        if decision.showsRecording { self.refresh() }
        self.answer(decision, request, on: connection)
        if self.state.value.access?.invitations != invitations { self.invite() }
    }

    private func answer(
        _ decision: InspectorAccess.Decision, _ request: HTTPRequest, on connection: InspectorConnection
    ) {
        switch decision {
        case .refused(let status, let message):
            connection.respond(.refusal(status: status, message))
        case .page(let key, let cookie):
            var response = InspectorPage.response(key: key, port: self.state.value.listener?.port ?? 0)
            if !cookie.isEmpty { response.fields.append(("Set-Cookie", cookie)) }
            connection.respond(response)
        case .snapshot:
            connection.respond(Self.response("application/json", self.snapshot))
        case .report:
            var response = Self.response("text/plain; charset=utf-8", Array(self.report.utf8))
            response.fields.append(("Content-Disposition", "attachment; filename=\"linkspan-report.txt\""))
            connection.respond(response)
        case .feed(let key, let subprotocol):
            guard connection.upgrade(request, subprotocol: subprotocol) else { return }
            connection.send(self.hello(key: key))
            self.feed(connection, now: .now)
            self.schedule(after: Self.interval)
        }
    }

    private static func response(_ type: String, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: 200, fields: [("Content-Type", type)], body: body)
    }

    private var snapshot: [UInt8] {
        let state = self.state.value
        var json = JSONText()
        let batch = state.recorder.everything(now: .now)
        json.object { batch.write(to: &$0, excerpts: state.options.showsPayloads) }
        return json.bytes
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

    private func hello(key: String?) -> [UInt8] {
        let state = self.state.value
        var json = JSONText()
        json.object { json in
            json.object("hello") { json in
                json.number("version", 1)
                json.flag("faults", state.options.allowsFaults)
                json.flag("payloads", state.options.showsPayloads)
                json.flag("pathLost", state.isPathLost)
                json.text("session", key)
            }
        }
        return json.bytes
    }

    private func feed(_ page: InspectorConnection, now: ContinuousClock.Instant) {
        let state = self.state.value
        var json = JSONText()
        let batch = state.recorder.batch(for: &page.cursor, now: now)
        json.object { batch.write(to: &$0, excerpts: state.options.showsPayloads) }
        page.send(json.bytes)
    }
}

// MARK: - Commands

extension InspectorRun {
    func perform(_ command: PageCommand, for page: InspectorConnection) {
        guard !command.isFault || self.state.value.options.allowsFaults else {
            return self.notify(page, "faults are off; set services.inspector.faults to true", isError: true)
        }
        let subject = self.state.value.subject
        switch command {
        case .select(let id): page.cursor.selected = id
        case .provoke(let id, let fault):
            guard let connection = subject?.manager?.inspected.first(where: { $0.id == id }) else {
                return self.notify(page, "there is no connection \(id)", isError: true)
            }
            connection.provoke(fault)
            self.note("inspector: \(fault.words)", connection: id)
        case .path(let isLost):
            subject?.manager?.signal(isLost ? .pathLost : .pathAvailable)
            self.withState { $0.isPathLost = isLost }
            self.note(isLost ? "inspector: network path lost" : "inspector: network path restored")
        case .move(let name):
            do throws(LinkspanError) {
                guard let subject else { return }
                try subject.move(name)
                self.note("inspector: move to transport \(name)")
            } catch {
                self.notify(page, error.message, isError: true)
            }
        }
    }

    private func note(_ text: String, connection: UInt64? = nil) {
        self.withState { $0.recorder.note(text, kind: "fault", connection: connection, at: .now) }
    }

    private func notify(_ page: InspectorConnection, _ text: String, isError: Bool) {
        var json = JSONText()
        json.object { json in
            json.object("notice") { json in
                json.text("text", text)
                json.flag("error", isError)
            }
        }
        page.send(json.bytes)
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
