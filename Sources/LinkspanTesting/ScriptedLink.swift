internal import Linkspan
internal import LinkspanRuntime

/// The server's end of scripted links, which it counts from 1.
protocol ScriptedServer: Sendable {
    /// Registers a link that has begun to open.
    func register(_ link: ScriptedLink) -> (number: Int, script: LinkScript)
    /// Admits a link, or refuses it by an error.
    func admit(_ link: Int) throws(LinkspanError)
    /// Records a message that a link has accepted.
    func accepted(_ message: OutboundMessage, link: Int)
    /// Handles a message that has arrived.
    func arrived(_ message: OutboundMessage, link: Int)
    /// Handles a reply that has arrived.
    func answered(_ id: UInt64, _ payload: Payload, link: Int)
}

/// The client's end of a scripted link.
///
/// It calls its receiver from jobs of the scheduler's executor only.
final class ScriptedLink: Link, Sendable {
    private enum Phase: Sendable {
        case idle
        case opening
        case open
        case ended
    }

    /// A message or reply that the client has sent.
    private enum Sent: Sendable {
        case message(OutboundMessage)
        case reply(id: UInt64, Payload)
    }

    private struct State: Sendable {
        var phase = Phase.idle
        var script = LinkScript.perfect
        /// Its number at the server; nil before it opens.
        var number: Int?
        var openedAt: ContinuousClock.Instant?
        var lastToServer: ContinuousClock.Instant?
        var lastToClient: ContinuousClock.Instant?
        var accepted = 0
        /// Messages and replies that were accepted and not yet read, wherever they are; of a link with a capacity.
        var outstanding = 0
        /// Those that have arrived at a server that reads only when it is told to.
        var unread: [Sent] = []
        var isFull = false
        var renewals: [Credentials] = []
        /// Messages that have come from the server.
        var heard = 0

        /// Takes one more message or reply.
        mutating func accept() -> SendAcceptance {
            guard let capacity = self.script.capacity else { return .accepted }
            self.outstanding += 1
            self.isFull = self.outstanding >= capacity
            return self.isFull ? .acceptedAndFull : .accepted
        }
    }

    let request: LinkRequest
    private let receiver: any LinkReceiver
    private let server: any ScriptedServer
    private let scheduler: VirtualScheduler
    private let state: Confined<State>

    init(
        request: LinkRequest, receiver: any LinkReceiver, server: any ScriptedServer, scheduler: VirtualScheduler
    ) {
        self.request = request
        self.receiver = receiver
        self.server = server
        self.scheduler = scheduler
        self.state = Confined(State(), to: scheduler.executor)
    }

    /// Reads or changes the state on the executor; the test, which plays the server, waits for it.
    private func withState<Result: Sendable>(_ body: @escaping @Sendable (inout State) -> Result) -> Result {
        self.scheduler.executor.run { body(&self.state.value) }
    }

    private func look<Result: Sendable>(_ body: @escaping @Sendable (State) -> Result) -> Result {
        self.scheduler.executor.look { body(self.state.value) }
    }

    var isOpen: Bool { self.look { $0.phase == .open } }
    var renewals: [Credentials] { self.look { $0.renewals } }

    // MARK: Opening

    func open() {
        let isFirst = self.withState { state in
            guard state.phase == .idle else { return false }
            state.phase = .opening
            return true
        }
        guard isFirst else { return }
        let (number, script) = self.server.register(self)
        self.withState { state in
            state.script = script
            state.number = number
        }
        if case .hangs = script.opening { return }
        self.scheduler.scheduleJob(after: script.openingDelay) { self.answer(number, script) }
    }

    private func answer(_ number: Int, _ script: LinkScript) {
        guard self.withState({ $0.phase == .opening }) else { return }
        if case .refuses(let error) = script.opening { return self.drop(error) }
        self.withState { state in
            state.phase = .open
            state.openedAt = self.scheduler.now
        }
        // First, so that what the handler emits comes after it.
        self.deliver(.opened(LinkInfo(sessionID: "\(number)", isContinuous: script.resumesSession)))
        do throws(LinkspanError) {
            try self.server.admit(number)
        } catch {
            return self.drop(error)
        }
        if let life = script.dropsAfter { self.scheduler.scheduleJob(after: life) { self.drop(script.dropError) } }
    }

    // MARK: From the client

    func send(_ message: OutboundMessage) -> SendAcceptance {
        let now = self.scheduler.now
        let acceptance = self.withState { state -> SendAcceptance in
            guard state.phase == .open, state.number != nil else { return .refused }
            if let error = state.script.rejects(message) { return .rejected(error) }
            state.accepted += 1
            return state.accept()
        }
        guard acceptance == .accepted || acceptance == .acceptedAndFull else { return acceptance }
        let (number, isLast) = self.withState { ($0.number, $0.accepted == $0.script.dropsAfterMessages) }
        guard let number else { return .refused }
        self.server.accepted(message, link: number)
        self.toServer(from: now) { self.arrive(.message(message), from: number) }
        if isLast { self.toServer(from: now) { self.drop(self.withState { $0.script.dropError }) } }
        return acceptance
    }

    var hasPendingBytes: Bool { self.withState { $0.outstanding > 0 } }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        let (number, acceptance) = self.withState { state -> (Int?, SendAcceptance) in
            guard state.phase == .open, let number = state.number else { return (nil, .refused) }
            if let error = state.script.rejectsReply(payload) { return (nil, .rejected(error)) }
            return (number, state.accept())
        }
        guard let number else { return acceptance }
        self.toServer(from: self.scheduler.now) { self.arrive(.reply(id: id, payload), from: number) }
        return acceptance
    }

    var resumption: Secret? {
        self.withState { state in
            guard state.script.tellsResumption, let number = state.number else { return self.request.resumption }
            return Secret("\(number):\(state.heard)")
        }
    }

    var openingStage: String? { self.withState { $0.phase == .opening ? "waiting for the script" : nil } }

    func renewCredentials(_ credentials: Credentials) -> Bool {
        self.withState { state in
            guard state.phase == .open, state.script.showsRenewals else { return false }
            state.renewals.append(credentials)
            return true
        }
    }

    func close(code: UInt16?, reason: String) { self.abort() }

    func abort() { self.drop(LinkspanError(.connectionLost, "closed by this side")) }

    private func toServer(from now: ContinuousClock.Instant, _ arrival: @escaping @Sendable () -> Void) {
        let instant = self.withState { state in
            let instant = max(now + state.script.delayToServer(), state.lastToServer ?? now)
            state.lastToServer = instant
            return instant
        }
        _ = self.scheduler.schedule(at: instant, on: self.scheduler.executor, arrival)
    }

    private func arrive(_ sent: Sent, from number: Int) {
        guard self.isHeard else { return }
        let isRead = self.withState { state in
            if state.script.capacity != nil { state.unread.append(sent) }
            return state.script.capacity == nil
        }
        if isRead { self.pass(sent, from: number) }
    }

    private func pass(_ sent: Sent, from number: Int) {
        switch sent {
        case .message(let message): self.server.arrived(message, link: number)
        case .reply(let id, let payload): self.server.answered(id, payload, link: number)
        }
    }

    private var isHeard: Bool {
        self.withState { state in
            guard !self.isHalfOpen(state) else { return false }
            return state.phase == .open || state.script.outlivesDrop
        }
    }

    private func isHalfOpen(_ state: State) -> Bool {
        guard let after = state.script.isHalfOpenAfter, let openedAt = state.openedAt else { return false }
        return openedAt.duration(to: self.scheduler.now) >= after
    }

    // MARK: From the server

    func read(_ count: Int?) {
        let (read, number, hasRoom) = self.withState { state -> ([Sent], Int?, Bool) in
            let taken = Array(state.unread.prefix(count ?? .max))
            state.unread.removeFirst(taken.count)
            state.outstanding -= taken.count
            let hasRoom = state.isFull && state.outstanding < state.script.capacity ?? .max
            if hasRoom { state.isFull = false }
            return (taken, state.number, hasRoom)
        }
        guard let number else { return }
        for sent in read { self.pass(sent, from: number) }
        if hasRoom { self.deliver(.writable) }
    }

    func deliver(_ event: LinkEvent) {
        let now = self.scheduler.now
        let copies = self.withState { state -> (count: Int, instant: ContinuousClock.Instant)? in
            guard state.phase == .open || state.script.speaksAfterDrop else { return nil }
            let instant = max(now + state.script.delayToClient(), state.lastToClient ?? now)
            state.lastToClient = instant
            return (Self.copies(of: event, state.script), instant)
        }
        guard let copies else { return }
        for _ in 0..<copies.count {
            _ = self.scheduler.schedule(at: copies.instant, on: self.scheduler.executor) { self.tell(event) }
        }
    }

    private static func copies(of event: LinkEvent, _ script: LinkScript) -> Int {
        switch event {
        case .opened: 1
        case .message: script.isDeaf ? 0 : script.copiesOfMessages
        case .reply: script.isDeaf ? 0 : script.copiesOfReplies
        case .changed, .failed, .writable, .closed: script.isDeaf ? 0 : 1
        }
    }

    private func tell(_ event: LinkEvent) {
        let isHeard = self.withState { state in
            if case .opened = event { return state.phase == .open }
            return (state.phase == .open && !self.isHalfOpen(state)) || state.script.speaksAfterDrop
        }
        guard isHeard else { return }
        if case .message = event { self.withState { $0.heard += 1 } }
        self.receiver.receive([event])
    }

    /// Ends the link after all messages under way to the client.
    func finish(_ error: LinkspanError) {
        let now = self.scheduler.now
        let instant = self.withState { max(now + $0.script.delayToClient(), $0.lastToClient ?? now) }
        _ = self.scheduler.schedule(at: instant, on: self.scheduler.executor) { self.drop(error) }
    }

    func drop(_ error: LinkspanError) {
        let isFirst = self.withState { state in
            defer { state.phase = .ended }
            return state.phase != .ended
        }
        guard isFirst else { return }
        self.scheduler.scheduleJob(after: .zero) { self.receiver.receive([.closed(error)]) }
    }
}
