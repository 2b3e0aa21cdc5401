@testable internal import LinkspanSocketIO
internal import LinkspanNetwork

extension FuzzTarget {
    /// The body of an answer to a poll: the first byte says which version of Engine.IO reads it.
    ///
    /// What is accepted survives being written and read again, is no more than what was read, and is the same when the body
    /// comes in parts.
    public static let pollingPayload = Self(name: "polling-payload", maximumLength: 4096) { input throws(Violation) in
        guard let flags = input.first else { return }
        let body = input.dropFirst()
        let isLegacy = flags & 1 == 1
        _ = LegacyPollingPayload.isHandshake(body)
        try Self.requireSameInParts(body, isLegacy: isLegacy, size: Int(flags) / 2 + 1)
        guard let packets = try? isLegacy ? LegacyPollingPayload.decode(body) : PollingPayload.decode(body) else {
            return
        }
        let bytes = packets.reduce(0) { $0 + $1.bytes.count }
        try require(bytes <= body.count, "\(bytes) bytes were read from \(body.count)")
        for case .text(let text) in packets { try require(FuzzInput.isUTF8(text), "a text is not UTF-8") }
        var written: [UInt8] = []
        // A packet of the unknown type `b`, which the form in bytes can carry, would be taken for binary in text.
        let isTextual = !packets.contains {
            if case .text(let text) = $0 { text.first == UInt8(ascii: "b") } else { false }
        }
        if isLegacy {
            guard isTextual else { return }
            LegacyPollingPayload.append(packets, to: &written)
            try require(
                written.isEmpty || (try? LegacyPollingPayload.decode(written[...])) == packets, "not a fixed point")
        } else {
            PollingPayload.append(packets, to: &written)
            // A single empty packet is nothing in a body, and nothing is read as one empty packet.
            try require(
                (try? PollingPayload.decode(written[...])) == packets || packets.contains { $0.bytes.isEmpty },
                "not a fixed point")
        }
        let most = packets.reduce(0) { sum, packet in
            sum + (isLegacy ? LegacyPollingPayload.length(of: packet) : PollingPayload.length(of: packet))
        }
        try require(written.count <= most, "packets are longer than was reckoned")
    }

    private static func requireSameInParts(
        _ body: ArraySlice<UInt8>, isLegacy: Bool, size: Int
    ) throws(Violation) {
        let whole = try? isLegacy ? LegacyPollingPayload.decode(body) : PollingPayload.decode(body)
        var decoder = PollingDecoder(version: isLegacy ? .v3 : .v4, maximumBytes: body.count)
        var packets: [WebSocketMessage]? = []
        for start in stride(from: body.startIndex, to: body.endIndex, by: size) {
            let part = Array(body[start...].prefix(size))
            packets = packets.flatMap { former in (try? decoder.receive(part)).map { former + $0 } }
        }
        packets = packets.flatMap { former in (try? decoder.finish()).map { former + $0 } }
        try require(packets == whole, "a body in parts is not the same")
    }

    /// Lines of `Set-Cookie` headers.
    ///
    /// Whatever they are, what is sent back is one plain line of at most 20 cookies.
    public static let cookies = Self(name: "cookies", maximumLength: 4096) { input throws(Violation) in
        var jar = CookieJar()
        for line in FuzzInput.lines(input) { jar.set(FuzzInput.text(line), path: "/socket.io/") }
        for isSecure in [true, false] {
            guard let header = jar.header(path: "/socket.io/", isSecure: isSecure) else { continue }
            try require(
                header.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a cookie has a character that breaks requests")
            let pairs = header.split(separator: ";", omittingEmptySubsequences: false)
            try require(pairs.count <= CookieJar.maximumCookies, "there are too many cookies")
            try require(pairs.allSatisfy { $0.contains("=") }, "a cookie lacks its value")
        }
    }
}
