internal import LinkspanWebSocketProtocol

/// Reads the lines of a request's head.
enum HTTPRequestHead {
    /// Reads a head without its last empty line: the request line, and no more header fields than `fields`.
    static func parse(_ bytes: ArraySlice<UInt8>, fields: Int) throws(HTTPRequestError) -> HTTPRequest {
        var lines = try Self.lines(bytes)[...]
        guard let first = lines.popFirst() else { throw Self.malformed }
        guard lines.count <= fields else {
            throw HTTPRequestError(status: 431, message: "there are more header fields than the limit")
        }
        let (begun, authority) = try Self.requestLine(first)
        var request = begun
        for line in lines { request.fields.append(try Self.field(line)) }
        if let authority { Self.replaceHost(of: &request, with: authority) }
        // So far only a request of HTTP/1.0 is not persistent, and there an expectation means nothing.
        request.expectsContinue =
            request.isPersistent && request.values("expect").contains { $0.lowercased() == "100-continue" }
        let connection = request.values("connection").map { $0.lowercased() }
        if connection.contains(where: { $0.contains("close") }) { request.isPersistent = false }
        return request
    }

    private static func lines(_ bytes: ArraySlice<UInt8>) throws(HTTPRequestError) -> [ArraySlice<UInt8>] {
        let lines = bytes.split(separator: [UInt8].lineEnd, omittingEmptySubsequences: false)
        guard lines.allSatisfy({ $0.allSatisfy { $0 == 9 || ($0 >= 32 && $0 != 127) } }) else { throw Self.malformed }
        return lines
    }

    private static func requestLine(
        _ line: ArraySlice<UInt8>
    ) throws(HTTPRequestError) -> (request: HTTPRequest, authority: String?) {
        let parts = line.split(separator: 32, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy({ (65...90).contains($0) }),
            parts[1].allSatisfy({ $0 < 127 })
        else { throw Self.malformed }
        let (authority, rest) = try Self.target(parts[1])
        let version = String(decoding: parts[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw HTTPRequestError(status: 505, message: "only HTTP/1.1 is supported")
        }
        let target = rest.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let request = HTTPRequest(
            method: String(decoding: parts[0], as: UTF8.self),
            path: target[0].isEmpty ? "/" : String(decoding: target[0], as: UTF8.self),
            query: target.count == 2 ? Self.query(target[1]) : [], fields: [], isPersistent: version == "HTTP/1.1")
        return (request, authority)
    }

    /// Splits a target into its authority, which only a target in absolute form has, and its path and query.
    private static func target(
        _ bytes: ArraySlice<UInt8>
    ) throws(HTTPRequestError) -> (authority: String?, rest: ArraySlice<UInt8>) {
        if bytes.first == UInt8(ascii: "/") { return (nil, bytes) }
        let start = String(decoding: bytes.prefix(8), as: UTF8.self).lowercased()
        guard let scheme = ["http://", "https://"].first(where: { start.hasPrefix($0) }) else { throw Self.malformed }
        let behind = bytes.dropFirst(scheme.utf8.count)
        let authority = behind.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let text = String(decoding: authority, as: UTF8.self)
        guard Authority(text) != nil else { throw Self.malformed }
        return (text, behind.dropFirst(authority.count))
    }

    /// Replaces the value of the `Host` field by the authority of the target (RFC 9112 §3.2.2).
    ///
    /// A field that is missing, repeated or invalid stays, and is refused as in any other request (§3.2).
    private static func replaceHost(of request: inout HTTPRequest, with authority: String) {
        let places = request.fields.indices.filter { request.fields[$0].name == "host" }
        guard places.count == 1, Authority(request.fields[places[0]].value) != nil else { return }
        request.fields[places[0]].value = authority
    }

    private static func query(_ bytes: ArraySlice<UInt8>) -> [(name: String, value: String)] {
        bytes.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count == 2 ? Self.decoded(parts[1]) : "")
        }
    }

    /// Resolves percent-encoding; what is malformed stays as it is.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        var output: [UInt8] = []
        var position = bytes.startIndex
        while position < bytes.endIndex {
            let rest = bytes[position...].prefix(3)
            if rest.first == UInt8(ascii: "%"), rest.count == 3,
                let byte = UInt8(String(decoding: rest.dropFirst(), as: UTF8.self), radix: 16)
            {
                output.append(byte)
                position += 3
            } else {
                output.append(bytes[position] == UInt8(ascii: "+") ? 32 : bytes[position])
                position += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func field(_ line: ArraySlice<UInt8>) throws(HTTPRequestError) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPToken.isValid(line[..<colon]) else {
            throw Self.malformed
        }
        return (
            String(decoding: line[..<colon], as: UTF8.self).lowercased(),
            String(decoding: line[(colon + 1)...].trimmed, as: UTF8.self)
        )
    }

    private static let malformed = HTTPRequestError(status: 400, message: "the request is malformed")
}
