/// An answer to an HTTP request.
package struct HTTPResponse: Sendable {
    /// The status.
    package var status: Int
    /// The header fields, without those that ``append(to:isPersistent:)`` adds.
    package var fields: [(name: String, value: String)] = []
    /// The body.
    package var body: [UInt8] = []

    /// Makes an answer.
    package init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// A refusal in words.
    package static func refusal(status: Int, _ message: String) -> Self {
        Self(status: status, fields: [("Content-Type", "text/plain; charset=UTF-8")], body: Array("\(message)\n".utf8))
    }

    /// Allows a page of this origin read the answer.
    package mutating func allow(_ origin: String) {
        self.fields += [
            ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"), ("Vary", "Origin"),
        ]
    }

    /// Appends the bytes, without the body when the request was a HEAD (RFC 9110 §9.3.2).
    package func append(to output: inout [UInt8], isPersistent: Bool, forHead isForHead: Bool = false) {
        var head = "HTTP/1.1 \(self.status) \(Self.reason(self.status))\r\n"
        for field in self.fields { head += "\(field.name): \(field.value)\r\n" }
        if self.status != 101 {
            // A 204 has no body, and says nothing of one (RFC 9110 §8.6).
            if self.status != 204 { head += "Content-Length: \(self.body.count)\r\n" }
            head += "Cache-Control: no-store\r\n"
            head += isPersistent ? "Connection: keep-alive\r\n" : "Connection: close\r\n"
        }
        output.append(contentsOf: "\(head)\r\n".utf8)
        if !isForHead { output.append(contentsOf: self.body) }
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
