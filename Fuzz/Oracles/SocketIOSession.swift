internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

@testable internal import LinkspanSocketIO

extension FuzzTarget {
    /// A whole connection: a line is something that happens.
    ///
    /// `t` and `b` are frames, `w` and a number is time that passes, `j` and a name joins a namespace, `l` and a digit
    /// leaves one. Owners hear of each join exactly one end, nothing after it and no message before its beginning; what is
    /// written is a packet that servers take; the end leaves no deadline.
    public static let socketIOSession = Self(name: "socketio-session", maximumLength: 4096) { input throws(Violation) in
        var life = SessionLife()
        for line in FuzzInput.lines(input) where !life.isOver { try life.happen(line) }
        try life.end()
    }
}

/// A session, and what its owners have heard.
private struct SessionLife {
    private enum Owner { case waiting, open, closed }

    private let start = Moment.now
    private var session: SocketIOSession
    private var elapsed: Duration = .zero
    private var owners: [Int: Owner] = [:]
    private(set) var isOver = false

    init() {
        let limits = SocketIOLimits(maximumMessageBytes: 1024, maximumEarlyEvents: 4, maximumEarlyBytes: 512)
        self.session = SocketIOSession(limits: limits, openTimeout: .seconds(10), now: self.start)
    }

    private var now: Moment { self.start.advanced(by: self.elapsed) }

    mutating func happen(_ line: ArraySlice<UInt8>) throws(Violation) {
        var output = SocketIOOutput()
        let rest = line.dropFirst()
        switch line.first {
        case UInt8(ascii: "t"): self.session.receive(text: rest, now: self.now, output: &output)
        case UInt8(ascii: "b"): self.session.receive(binary: rest, now: self.now, output: &output)
        case UInt8(ascii: "j"): self.join(FuzzInput.text(rest), &output)
        case UInt8(ascii: "l"):
            let index = Int(rest.first ?? 0) - 0x30
            self.session.leave(index, reason: LinkspanError(.connectionLost, "closed by this side"), output: &output)
        case UInt8(ascii: "w"):
            self.elapsed += .milliseconds(min(Int(FuzzInput.text(rest.prefix(6))) ?? 0, 100_000))
            self.session.timer(now: self.now, output: &output)
            let isOverdue = self.session.nextDeadline.map { $0 <= self.now } ?? false
            try require(!isOverdue, "a deadline that has passed is still to come")
        default: return
        }
        try self.note(output)
    }

    mutating func end() throws(Violation) {
        var output = SocketIOOutput()
        self.session.streamClosed(LinkspanError(.connectionLost, "end"), output: &output)
        try require(output.close == nil, "the end of the stream ends the stream")
        try self.note(output)
        try require(self.owners.values.allSatisfy { $0 == .closed }, "an owner never gets the end")
        try require(self.session.nextDeadline == nil, "an ended session waits for something")
    }

    private mutating func join(_ name: String, _ output: inout SocketIOOutput) {
        guard let namespace = try? SocketIONamespace(name), self.owners.count < 8 else { return }
        guard let index = try? self.session.join(namespace, now: self.now, output: &output) else { return }
        self.owners[index] = .waiting
    }

    private mutating func note(_ output: SocketIOOutput) throws(Violation) {
        for frame in output.frames.joined().map(\.bytes) {
            let text = FuzzInput.text(frame)
            let isFit = text == "3" || text.hasPrefix("40") || text.hasPrefix("41")
            try require(isFit && FuzzInput.isUTF8(frame), "the session writes \(text)")
        }
        var rest = output
        while let namespace = rest.nextNamespace, let event = rest.takeEvent(of: namespace) {
            try self.note(event, in: namespace)
        }
        guard let error = output.close else { return }
        self.isOver = true
        try require(self.session.nextDeadline == nil, "a closed session waits for something")
        try require(self.session.activeNamespaces == 0, "a closed session has owners")
        let text = "\(error) \(String(reflecting: error))"
        // What is not Socket.IO is quoted, so that a reader sees what answers there.
        let isForeign = text.contains("does not speak Socket.IO")
        try require(isForeign || !text.contains("sesame"), "an error quotes the peer")
    }

    private mutating func note(_ event: LinkEvent, in namespace: Int) throws(Violation) {
        let owner = self.owners[namespace]
        switch event {
        case .opened:
            try require(owner == .waiting, "opened comes out of turn")
            self.owners[namespace] = .open
        case .message, .reply:
            try require(owner == .open, "a message comes while the namespace is not open")
        case .closed:
            try require(owner == .waiting || owner == .open, "the end comes twice")
            self.owners[namespace] = .closed
        case .changed, .failed, .writable:
            throw Violation(message: "a session knows nothing of carriers and room")
        }
    }
}
