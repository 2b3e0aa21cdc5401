internal import Linkspan
@testable internal import LinkspanNetwork
internal import LinkspanRuntime
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@testable internal import LinkspanSocketIO

/// Plays the server's part of a conversation to a session, and compares what the session writes with the client's part.
struct ConversationReplay {
    private(set) var session: SocketIOSession
    /// What the owners of namespaces were told, and what they should have been.
    private(set) var outcomes: [Outcome] = []
    private(set) var expected: ExpectedOutcomes
    /// What the session wrote and the recorded client did not.
    private(set) var unmatched: [String] = []
    /// What the recorded client wrote where this one has nothing more to say.
    private(set) var unheard: [String] = []
    /// How many frames were recorded only in part.
    private(set) var parts = 0

    private let conversation: Conversation
    /// How the session ends when it is not the packets that say so.
    private let ending: LinkspanError.Code?
    private let recoveries: [String: SocketIORecovery]
    private var names: [String] = []
    private var indexes: [String: Int] = [:]
    private var probe = UpgradeProbe()
    private var hasCandidate = false
    private var polls = 0
    private var posts = 0
    private var now = at(0)
    private var isOver = false

    init(
        _ conversation: Conversation, ending: LinkspanError.Code?, recoveries: [String: SocketIORecovery] = [:]
    ) {
        self.conversation = conversation
        self.ending = ending
        self.recoveries = recoveries
        self.session = SocketIOSession(openTimeout: .seconds(10), version: conversation.version, now: at(0))
        self.expected = ExpectedOutcomes(version: conversation.version)
    }

    /// What each namespace could be resumed with.
    var remainingRecoveries: [String: SocketIORecovery] {
        self.indexes.compactMapValues { self.session.recovery(of: $0) }
    }

    mutating func run() throws {
        // An app joins before the stream is up.
        if self.conversation.version == .v4, let first = self.conversation.firstConnect {
            try self.join(first)
        } else {
            try self.join(Foreign("40"))
        }
        for step in self.conversation.steps { try self.take(step) }
    }

    private mutating func take(_ step: Conversation.Step) throws {
        switch step {
        case .packets(isFromServer: true, let isPolling, let packets):
            try self.receive(packets, isPolling: isPolling)
        case .packets(isFromServer: false, let isPolling, let packets):
            #expect(packets.count <= PollingSession.maximumPackets)
            for case .text(let frame) in packets { try self.act(as: text(frame), isPolling: isPolling) }
        case .began(let isPost):
            if isPost { self.posts += 1 } else { self.polls += 1 }
            #expect(self.polls <= 1 && self.posts <= 1, "requests overlap")
        case .ended(let isPost):
            if isPost { self.posts -= 1 } else { self.polls -= 1 }
        case .candidateRequested:
            self.hasCandidate = true
            #expect(self.probe.sessionOpened(upgrades: self.session.handshake?.upgrades ?? []) == .openCandidate)
        case .candidateOpened:
            #expect(self.probe.candidateOpened() == .sendProbe)
        case .closed(let isFromServer, let code):
            self.close(isFromServer: isFromServer, code)
        case .cut(isPolling: true):
            self.polls = 0
            let failure = ByteStreamError(.unreachable, "cut")
            self.end { () throws(LinkspanError) in _ = try PollingAnswer.body(of: .failure(failure), isFirst: false) }
        case .cut(isPolling: false):
            self.end(LinkspanError(WebSocketEnd.stream(ByteStreamError(.unreachable, "cut"))))
        case .refused(let status, let body, isPolling: true):
            let answer = HTTPAnswer(head: ResponseHead(status: status), body: body)
            let isFirst = self.session.handshake == nil
            self.end { () throws(LinkspanError) in
                _ = try PollingAnswer.body(of: .success(answer), isFirst: isFirst)
            }
        case .refused(let status, _, isPolling: false):
            self.end(LinkspanError(WebSocketEnd.stream(ByteStreamError(.refused, "refused", status: status))))
        case .foreign:
            self.end(LinkspanError(.unsupportedVersion, "another version"))
        case .raw(let bytes):
            self.receive(raw: bytes)
        case .part:
            self.parts += 1
        }
    }
}

// MARK: - The server's part

extension ConversationReplay {
    private mutating func receive(_ packets: [WebSocketMessage], isPolling: Bool) throws {
        if self.hasCandidate, !isPolling {
            let isProbing = !self.probe.isUpgraded
            #expect(self.probe.candidateReceived(packets) == (isProbing ? .pausePolling : .handOn))
            guard !isProbing else { return }
        }
        for packet in packets {
            var output = SocketIOOutput()
            switch packet {
            case .text(let frame):
                self.session.receive(text: frame, now: self.now, output: &output)
                self.expected.receive(text(frame))
            case .binary(var bytes):
                // Behind the type where the version has one in front of a binary frame.
                if !isPolling, let type = self.conversation.version.binaryType { #expect(bytes.popFirst() == type) }
                self.session.receive(binary: bytes, now: self.now, output: &output)
                self.expected.receive(binary: Array(bytes))
            }
            self.note(output)
        }
    }

    private mutating func receive(raw bytes: [UInt8]) {
        var client = WebSocketSession(role: .client)
        client.receive(bytes[...])
        var answer: [UInt8] = []
        guard case .closed(let event, _)? = client.next(into: &answer) else {
            Issue.record("bytes that are no frame are taken for one")
            return
        }
        #expect(event.code == .protocolError)
        self.end(LinkspanError(WebSocketEnd.closed(event)))
    }

    private mutating func close(isFromServer: Bool, _ code: UInt16?) {
        guard !self.isOver, self.session.activeNamespaces > 0 else {
            self.isOver = true  // The connection has ended, on either side.
            return
        }
        if isFromServer {
            let code = code.map(CloseCode.init(rawValue:)) ?? .noStatus
            return self.end(LinkspanError(WebSocketEnd.closed(CloseEvent(code: code, reason: ""))))
        }
        // The client gives up a session that is in use, for which only silence is a reason.
        guard let deadline = self.session.heartbeatDeadline else { return }
        var output = SocketIOOutput()
        self.session.timer(now: deadline.advanced(by: .milliseconds(-1)), output: &output)
        #expect(output.isEmpty)
        self.session.timer(now: deadline, output: &output)
        self.finish()
        self.note(output)
        #expect(output.close?.code == self.ending)
    }

    /// The carrier ends by itself.
    private mutating func end(_ error: LinkspanError) {
        guard !self.isOver else { return }
        var output = SocketIOOutput()
        self.session.streamClosed(error, output: &output)
        #expect(error.code == self.ending)
        self.finish()
        self.note(output)
    }

    private mutating func end(_ work: () throws(LinkspanError) -> Void) {
        do throws(LinkspanError) {
            try work()
            Issue.record("nothing is wrong with the answer to a poll")
        } catch {
            self.end(error)
        }
    }

    private mutating func finish() {
        if let ending = self.ending {
            self.expected.end(ending)
        } else {
            Issue.record("the session ends, and no test says how")
        }
        self.isOver = true
    }
}

// MARK: - The client's part

extension ConversationReplay {
    private mutating func act(as frame: String, isPolling: Bool) throws {
        if self.hasCandidate, !isPolling, !self.probe.isUpgraded {
            guard frame != "2probe" else { return }
            #expect(frame == "5")
            #expect(self.polls == 0 && self.posts == 0)
            #expect(self.probe.pollingIsQuiet() == .switchOver)
            return
        }
        guard let packet = Foreign(frame) else { return try self.act(asEngine: frame) }
        guard !self.isOver else {
            // What was said before the end is said still.
            if self.unmatched.first == frame { self.unmatched.removeFirst() } else { self.unheard.append(frame) }
            return
        }
        if packet.type == "0" {
            if self.indexes[packet.namespace] == nil { try self.join(packet) }
            return try self.match(frame)
        }
        let index = try #require(self.indexes[packet.namespace])
        guard self.session.isConnected(index) else {
            self.unheard.append(frame)
            return
        }
        guard packet.type == "1" else { return }
        var output = SocketIOOutput()
        self.session.leave(index, reason: LinkspanError(.disconnected, "left"), output: &output)
        self.expected.leave(packet.namespace)
        self.note(output)
        try self.match(frame)
    }

    private mutating func act(asEngine frame: String) throws {
        guard !self.isOver else { return }
        switch frame {
        case "2":
            // The recorded client was driven by hand, and pinged when it liked.
            self.now = try #require(self.session.nextDeadline)
            var output = SocketIOOutput()
            self.session.timer(now: self.now, output: &output)
            self.note(output)
            try self.match(frame)
        case "3": try self.match(frame)
        default: #expect(frame == "1")
        }
    }

    private mutating func join(_ connect: Foreign?) throws {
        let connect = try #require(connect)
        let pid = Foreign.string("pid", in: connect.json)
        let recovery = pid.flatMap { _ in self.recoveries[connect.namespace] }
        #expect((recovery == nil) == (pid == nil))
        var auth: Payload?
        if let query = connect.query {
            let halves = query.split(separator: "=").map(String.init)
            auth = try Payload([halves[0]: halves[1]])
        } else if !connect.json.isEmpty, recovery == nil {
            auth = try Payload(checking: bytes(connect.json))
        }
        var output = SocketIOOutput()
        let index = try self.session.join(
            SocketIONamespace(connect.namespace), auth: auth, recovery: recovery, now: self.now, output: &output)
        #expect(index == self.names.count)
        self.names.append(connect.namespace)
        self.indexes[connect.namespace] = index
        self.expected.join(connect.namespace, pid: pid)
        self.note(output)
    }

    private mutating func match(_ frame: String) throws {
        let first = try #require(self.unmatched.first, "we did not write \(frame)")
        #expect(first == frame)
        self.unmatched.removeFirst()
    }

    private mutating func note(_ output: SocketIOOutput) {
        self.unmatched += output.written
        self.outcomes += output.deliveries.map { Outcome($0.event, in: self.names[$0.namespace]) }
        if output.close != nil { self.isOver = true }
    }
}

extension Conversation {
    /// The first CONNECT of the client.
    var firstConnect: Foreign? {
        for case .packets(isFromServer: false, _, let packets) in self.steps {
            for case .text(let frame) in packets {
                if let packet = Foreign(text(frame)), packet.type == "0" { return packet }
            }
        }
        return nil
    }
}
