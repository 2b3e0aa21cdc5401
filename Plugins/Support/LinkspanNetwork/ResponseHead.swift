internal import LinkspanWebSocketProtocol

/// The head of an HTTP response: its status and its fields.
///
/// Back ends check no field: that is the duty of the code that opens the stream.
package struct ResponseHead: Sendable, Hashable {
    /// The HTTP status.
    package let status: Int
    /// The path of the request; nil when it is not known.
    package var path: String?
    /// The values of each field in their order, by its name in lower case.
    private var fields: [String: [String]]

    /// Makes a head from its parts; the names of fields are in lower case.
    package init(status: Int, fields: [String: [String]] = [:]) {
        self.status = status
        self.fields = fields
    }

    /// The values of a field, joined by commas; nil when the server did not send it.
    ///
    /// - Parameter name: the name in lower case.
    package subscript(name: String) -> String? { self.fields[name]?.joined(separator: ",") }

    /// The field of a list, in lower case; none when the list is empty.
    package func list(_ name: String) -> [String] { self[name].map { $0.isEmpty ? [] : [$0] } ?? [] }

    /// The values of a field, by its name in lower case; those of `Set-Cookie` are secrets.
    package func values(_ name: String) -> [String] { self.fields[name] ?? [] }

    /// The names of all fields, in lower case.
    package var names: [String] { self.fields.keys.sorted() }

    /// The value of `Retry-After` in seconds (RFC 9110 section 10.2.3), a day at most; dates are not read.
    package var retryAfter: Duration? {
        guard let text = self["retry-after"], text.isDigits else { return nil }
        // A number that is too great to read is greater than a day.
        return .seconds(min(Int(text) ?? .max, 86_400))
    }

    /// The length of the body, if the answer says it; one beyond every number is taken for the longest.
    package var length: Int? { self["content-length"].map { Int($0) ?? .max } }

    /// Whether the body comes in chunks.
    package var isChunked: Bool { self.fields["transfer-encoding"] != nil }

    /// Whether the server says that the connection can be used for another request.
    var keepsConnection: Bool {
        let options = self["connection"]?.lowercased().split { $0 == "," || $0 == " " } ?? []
        return options.contains("keep-alive") && !options.contains("close")
    }

    /// Whether another head follows.
    package var isInterim: Bool { (100...199).contains(self.status) && self.status != 101 }

    /// The reason why the answer to an upgrade does not open the stream; nil when it does.
    var upgradeError: ByteStreamError? {
        switch self.status {
        case 101 where self.isChunked || self.length != nil:
            return ByteStreamError(.handshakeMalformed, "the 101 answer announces a body", status: 101)
        case 101: return nil
        case 300...399:
            let place = self["location"].flatMap(Self.origin(of:)).map { " to \($0)" } ?? ""
            let message = "the server redirects\(place) (status \(self.status)), which is not followed"
            return ByteStreamError(.redirected, message, status: self.status, retryAfter: self.retryAfter)
        case 100...999: return self.refusal
        default: return ByteStreamError(.handshakeMalformed, "the answer has no status")
        }
    }

    /// The error that the answer means when it is a refusal.
    package var refusal: ByteStreamError {
        let hint = self.status == 404 ? ": there is nothing at \(self.path ?? "this path")" : ""
        return ByteStreamError(
            .refused, "the server answered with status \(self.status)\(hint)", status: self.status,
            retryAfter: self.retryAfter)
    }

    /// Scheme and host of a URL; the rest may be secret, and so may a user part.
    private static func origin(of url: String) -> String? {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return nil }
        let scheme = url[..<colon]
        let rest = url[colon...].dropFirst(3)
        let authority = rest.prefix { !"/?#\\".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        let isPlain = (scheme + host).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, scheme.utf8.count <= 16, host.utf8.count <= 255 else { return nil }
        return "\(scheme)://\(host)"
    }
}

extension ResponseHead {
    /// Reads a head, up to its empty line; nil when it is none.
    init?(_ bytes: ArraySlice<UInt8>) {
        let lines = String(decoding: bytes, as: UTF8.self).split { $0 == "\r\n" || $0 == "\n" }
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1]),
            let unfolded = Self.unfolded(lines.dropFirst())
        else { return nil }
        self.init(status: status)
        for line in unfolded {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else { return nil }
            let value = String(line[line.index(after: colon)...].trimmed)
            self.fields[line[..<colon].lowercased(), default: []].append(value)
        }
        // Readers disagree on where a body of two lengths ends; the same one may be repeated (RFC 9110 section 8.6).
        if let text = self["content-length"] {
            let lengths = Set(text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed))
            guard lengths.count == 1, let length = lengths.first, length.isDigits else { return nil }
            self.fields["content-length"] = [String(length)]
        }
    }

    /// Joins lines that begin with a blank to the field before them (RFC 9112 section 5.2); nil when there is none.
    private static func unfolded(_ lines: ArraySlice<Substring>) -> [String]? {
        var fields: [String] = []
        for line in lines {
            if line.first != " ", line.first != "\t" {
                fields.append(String(line))
            } else {
                guard !fields.isEmpty else { return nil }
                fields[fields.count - 1] += " " + line.trimmed
            }
        }
        return fields
    }
}
