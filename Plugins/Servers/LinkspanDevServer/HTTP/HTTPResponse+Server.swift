internal import LinkspanNetwork

extension HTTPResponse {
    /// The success of a poll or a POST.
    static func text(_ body: [UInt8]) -> Self {
        Self(status: 200, fields: [("Content-Type", "text/plain; charset=UTF-8")], body: body)
    }

    /// A refusal in the form of Engine.IO, whose clients show the code.
    static func refusal(_ refusal: EngineRefusal) -> Self {
        let body = #"{"code":\#(refusal.rawValue),"message":"\#(refusal.message)"}"#
        return Self(status: 400, fields: [("Content-Type", "application/json")], body: Array(body.utf8))
    }

    /// A page for browsers.
    static func page(_ page: DevServerConfiguration.Page, at path: String) -> Self {
        let type = path.hasSuffix(".css") ? "css" : path.hasSuffix(".js") ? "javascript" : "html"
        return Self(
            status: 200,
            fields: [
                ("Content-Type", "text/\(type); charset=utf-8"), ("Content-Security-Policy", page.policy),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ], body: Array(page.html.utf8))
    }

    /// The answer to a browser that asks, ahead of a request, whether the page may send it.
    static func preflight(_ request: HTTPRequest) -> Self {
        let names = request.values("access-control-request-headers").map { ("Access-Control-Allow-Headers", $0) }
        return Self(status: 204, fields: [("Access-Control-Allow-Methods", "GET, POST")] + names)
    }
}

/// The reason why Engine.IO refuses a request, with the reference's code (checklist of engine.io's `Server.errors`).
enum EngineRefusal: Int, Sendable, Hashable {
    case unknownTransport = 0
    case unknownSession = 1
    case badMethod = 2
    case badRequest = 3
    case unsupportedVersion = 5

    var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSession: "Session ID unknown"
        case .badMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .unsupportedVersion: "Unsupported protocol version"
        }
    }
}
