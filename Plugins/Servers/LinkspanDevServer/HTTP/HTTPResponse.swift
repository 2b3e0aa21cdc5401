/// An answer to an HTTP request.
struct HTTPResponse: Sendable {
    var status: Int
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// The success of a poll or a POST.
    static func text(_ body: [UInt8]) -> Self {
        Self(status: 200, fields: [("Content-Type", "text/plain; charset=UTF-8")], body: body)
    }

    /// A refusal in the form of Engine.IO, whose clients show the code.
    static func refusal(_ refusal: EngineRefusal) -> Self {
        let body = #"{"code":\#(refusal.rawValue),"message":"\#(refusal.message)"}"#
        return Self(status: 400, fields: [("Content-Type", "application/json")], body: Array(body.utf8))
    }

    /// A refusal in words.
    static func refusal(status: Int, _ message: String) -> Self {
        Self(status: status, fields: [("Content-Type", "text/plain; charset=UTF-8")], body: Array("\(message)\n".utf8))
    }

    /// The answer to a browser that asks, ahead of a request, whether the page may send it.
    static func preflight(_ request: HTTPRequest) -> Self {
        var fields = [("Access-Control-Allow-Methods", "GET, POST")]
        for names in request.values("access-control-request-headers") {
            fields.append(("Access-Control-Allow-Headers", names))
        }
        return Self(status: 204, fields: fields)
    }

    /// Allows a page of this origin to read the answer.
    mutating func allow(_ origin: String) {
        self.fields += [
            ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"), ("Vary", "Origin"),
        ]
    }

    /// Appends the bytes.
    func append(to output: inout [UInt8], isPersistent: Bool) {
        var head = "HTTP/1.1 \(self.status) \(Self.reason(self.status))\r\n"
        for field in self.fields { head += "\(field.name): \(field.value)\r\n" }
        if self.status != 101 {
            // A 204 has no body, and says nothing of one (RFC 9110 §8.6).
            if self.status != 204 { head += "Content-Length: \(self.body.count)\r\n" }
            head += "Cache-Control: no-store\r\n"
            head += isPersistent ? "Connection: keep-alive\r\n" : "Connection: close\r\n"
        }
        output.append(contentsOf: "\(head)\r\n".utf8)
        output.append(contentsOf: self.body)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 101: "Switching Protocols"
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        case 426: "Upgrade Required"
        case 431: "Request Header Fields Too Large"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Unknown"
        }
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
