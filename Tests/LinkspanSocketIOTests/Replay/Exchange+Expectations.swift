internal import Linkspan

extension Exchange {
    /// Where this client deliberately does otherwise than the recorded one.
    struct Deviation: Sendable {
        var reason: String
        /// Events that the recorded client tells before `connect` come after it here.
        var eventsFollowOpened = false
        /// How a namespace ends here that the recorded client left by itself later.
        var endsEarlier: LinkspanError.Code?
        /// Frames of the recorded client for which this one has no occasion.
        var unheard: [String] = []
        /// Frames that the recorded client owed.
        var unsent: [String] = []
    }

    private static let openedFirst = Deviation(
        reason: "a link says `opened` before anything else, so events from before the answer to CONNECT wait for it",
        eventsFollowOpened: true)
    private static let silentByHand = Deviation(
        reason: "the recorded client was driven by hand, to see what a server does when no ping is answered",
        unsent: ["3"])

    /// By the names of the exchanges.
    static let deviations: [String: Deviation] = [
        "04: Python-socketio: an event emitted inside the connect handler arrives BEFORE the CONNECT answer":
            Self.openedFirst,
        "09: Client never answers: JS server closes (no code) pingTimeout after the ping": Self.silentByHand,
        "09: Same, python-socketio: close code 1000": Self.silentByHand,
        #"10: Python-socketio asyncio: only Engine.IO packet "1" is sent, the websocket stays open"#: Deviation(
            reason: "the official client waits for the end of the stream, which never comes; the packet says it all",
            endsEarlier: .connectionLost, unheard: ["41"]),
        "11: Websocket cut by the proxy, four missed packets, resumed": Self.openedFirst,
        "11: Same with polling+upgrade": Self.openedFirst,
        "11: Same, polling only": Self.openedFirst,
        "13: Python-socketio 4.6.1 / python-engineio 3.14.2": Deviation(
            reason: "the recorded client was driven by hand, and went on in a namespace that had refused it",
            unheard: [#"42/auth,1["whoami"]"#, "41/auth,"]),
        "15: Accepted": Self.openedFirst,
    ]

    /// How sessions end that are ended by what carries them; the others end by packets.
    static let endings: [String: LinkspanError.Code] = [
        "05: AllowRequest refuses, polling": .refused,
        "05: AllowRequest refuses, websocket (status 400 instead of 403, plain text)": .refused,
        "09: Server stops pinging: client closes after pingInterval+pingTimeout, reconnects": .heartbeatMissed,
        "09: Client never answers: JS server closes (no code) pingTimeout after the ping": .connectionLost,
        "09: Same, python-socketio: close code 1000": .connectionLost,
        "10: Engine closed by the JS server, websocket": .connectionLost,
        "10: Client exceeds maxPayload (10 kB), websocket: 1009": .messageRefused,
        "10: Same, polling: 413": .messageRefused,
        "11: Websocket cut by the proxy, four missed packets, resumed": .connectionLost,
        "11: Same with polling+upgrade": .connectionLost,
        "11: Same, polling only": .connectionLost,
        "11: Disconnected longer than maxDisconnectionDuration: new sid and pid": .connectionLost,
        "11: Server without recovery: the missed packets are lost": .connectionLost,
        "14: EIO=4 client, official v2 server, polling": .unsupportedVersion,
        "14: EIO=4 client, python EIO3 server": .refused,
        "14: EIO=3 client, v4 server without allowEIO3, websocket: 101 followed by a raw HTTP 400": .protocolViolation,
        "14: Same, polling": .unsupportedVersion,
    ]

    /// How the official client calls the end of a connection.
    private static let reasons: [String: LinkspanError.Code] = [
        "io client disconnect": .disconnected, "io server disconnect": .closedByServer,
        "transport close": .connectionLost, "transport error": .connectionLost, "ping timeout": .heartbeatMissed,
    ]

    /// The reports with events behind the `connect` of their namespace.
    var reportsWithOpenedFirst: [Report] {
        var result: [Report] = []
        var held: [Report] = []
        var open: Set<String> = []
        for report in self.reports {
            switch report.kind {
            case "event" where !open.contains(report.namespace):
                held.append(report)
                continue
            case "event": ()
            case "connect": open.insert(report.namespace)
            default: open.remove(report.namespace)
            }
            result.append(report)
            result += held.filter { $0.namespace == report.namespace }
            held.removeAll { $0.namespace == report.namespace }
        }
        return result
    }
}

extension Exchange.Report {
    /// Whether this says the same as an outcome, of a namespace that was open before or not.
    func says(_ outcome: Outcome, wasOpen: Bool, endsEarlier: LinkspanError.Code?) throws -> Bool {
        switch (self.kind, outcome) {
        case ("connect", .opened(self.namespace, let sid, _)):
            return sid == self.detail
        case ("event", .message(self.namespace, let json, let id, let attachments)):
            return try self.says(json, attachments, wantsReply: id != nil)
        case ("disconnect", .closed(self.namespace, let code, _)):
            // It does not tell that a message was refused from any other loss.
            let told = code == .messageRefused ? .connectionLost : code
            return wasOpen && (endsEarlier ?? Exchange.reason(self.detail)) == told
        case ("connect_error", .closed(self.namespace, _, let details)):
            // What a carrier is refused with has no common words.
            return !wasOpen && details.map { Foreign.string("message", in: $0) ?? "" } ?? self.detail == self.detail
        default:
            return false
        }
    }

    private func says(_ json: String, _ attachments: [[UInt8]], wantsReply: Bool) throws -> Bool {
        guard case .array(var arguments) = try JSON(json), case .string(let name)? = arguments.first else {
            return false
        }
        arguments.removeFirst()
        guard self.detail != "\(name) …" else { return true }
        guard self.detail.hasPrefix("\(name) ") else { return false }
        arguments = arguments.map { $0.filled(with: attachments, isArgument: true) }
        if wantsReply { arguments.append(.string("ackfn")) }
        return try JSON(String(self.detail.dropFirst(name.count + 1))) == .array(arguments)
    }
}

extension Exchange {
    /// The code for a reason of the official client.
    fileprivate static func reason(_ text: String) -> LinkspanError.Code? { Self.reasons[text] }
}
