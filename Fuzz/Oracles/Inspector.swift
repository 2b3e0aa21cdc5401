internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

@testable internal import LinkspanInspector

extension FuzzTarget {
    /// The bytes that come to the inspector: a request, and the frames of a page.
    ///
    /// `TOKEN` stands for the printed one and `KEY` for that of a session. Nobody is admitted without one of them, under
    /// another host or from another origin; of frames only commands come out, of bounded size.
    public static let inspector = Self(name: "inspector", maximumLength: 4096) { input throws(Violation) in
        try InspectorOracle.checkRequest(input)
        try InspectorOracle.checkFrames(input)
        let shown = Redaction.excerpt(input, of: input.count)
        try require(shown.utf8.count <= input.count * 6 + 16, "an excerpt grows")
    }
}

private enum InspectorOracle {
    private static let token = "4b1d0e8f4b1d0e8f4b1d0e8f4b1d0e8f4b1d0e8f4b1d0e8f"

    static func checkRequest(_ input: [UInt8]) throws(Violation) {
        let text = FuzzInput.text(input)
        let sent = text.replacing("TOKEN", with: Self.token).replacing("KEY", with: Self.token)
        var (whole, parts) = (
            HTTPRequestParser(bodyBytes: 0), HTTPRequestParser(bodyBytes: 0)
        )
        let bytes = Array(sent.utf8)
        whole.receive(bytes)
        let request = Result { () throws(HTTPRequestError) in try whole.next() }
        var cut: HTTPRequest?
        for byte in bytes where cut == nil {
            parts.receive([byte])
            cut = (try? parts.next()) ?? cut
        }
        guard case .success(let request?) = request else { return }
        try require(cut?.path == request.path && cut?.method == request.method, "cut into bytes it is another request")
        var access = InspectorAccess(port: 8123, standing: Self.token) { Self.token }
        let now = ContinuousClock.now
        _ = access.invite(now: now)
        guard !Self.isRefused(access.decide(request, now: now)) else { return }
        try require(sent.contains(Self.token), "somebody without a token is admitted")
        try require(request.method == "GET", "another method is admitted")
        let hosts = request.values("host").map { $0.lowercased() }
        let isOwn = ["127.0.0.1:8123", "localhost:8123", "127.0.0.1.:8123", "localhost.:8123"].contains(
            hosts.first ?? "")
        try require(hosts.count == 1 && isOwn, "another host is admitted: \(hosts)")
        let origins = request.values("origin").map { $0.lowercased() }
        try require(origins.allSatisfy { $0 == "http://\(hosts[0])" }, "another origin is admitted: \(origins)")
    }

    private static func isRefused(_ decision: InspectorAccess.Decision) -> Bool {
        if case .refused = decision { true } else { false }
    }

    static func checkFrames(_ input: [UInt8]) throws(Violation) {
        let limits = WebSocketLimits { $0.maxMessageBytes = InspectorRun.maximumMessageBytes }
        var session = WebSocketSession(role: .server, limits: limits)
        session.receive(input[...])
        var output: [UInt8] = []
        while let event = session.next(into: &output) {
            guard case .text(let text) = event else { continue }
            try require(text.count <= InspectorRun.maximumMessageBytes, "a message is larger than the limit")
            _ = PageCommand(text)
        }
        _ = PageCommand(input[...])
    }
}
