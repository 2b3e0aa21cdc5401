import Linkspan

/// Where a message comes from, and when it was due: a short text that a server passes on inside the payload.
struct MessageStamp: Equatable, Sendable {
    var sender: Int
    var number: Int
    /// The nanoseconds from the beginning of the run to the time at which the message was due.
    var time: Int64

    private static let mark = UInt8(ascii: "~")

    /// The stamp as `~SENDER.NUMBER.TIME~`.
    func write(to bytes: inout [UInt8]) {
        bytes.append(Self.mark)
        Self.write(Int64(self.sender), to: &bytes)
        bytes.append(UInt8(ascii: "."))
        Self.write(Int64(self.number), to: &bytes)
        bytes.append(UInt8(ascii: "."))
        Self.write(self.time, to: &bytes)
        bytes.append(Self.mark)
    }

    /// Writes a number that is not negative; a `String` of each would cost more than the message.
    private static func write(_ value: Int64, to bytes: inout [UInt8]) {
        if value >= 10 { Self.write(value / 10, to: &bytes) }
        bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
    }

    init(sender: Int, number: Int, time: Int64) { (self.sender, self.number, self.time) = (sender, number, time) }

    /// Finds a stamp in a payload.
    init?(in text: ArraySlice<UInt8>) {
        let values = text.withUnsafeBufferPointer { bytes -> (Int64, Int64, Int64)? in
            guard var place = bytes.firstIndex(of: Self.mark) else { return nil }
            func number(until end: UInt8) -> Int64? {
                var value: Int64 = 0
                let start = place + 1
                while true {
                    place += 1
                    guard place < bytes.count, place - start < 19 else { return nil }
                    if bytes[place] == end { return place > start ? value : nil }
                    guard 48...57 ~= bytes[place] else { return nil }
                    value = value &* 10 &+ Int64(bytes[place] - 48)
                }
            }
            let dot = UInt8(ascii: ".")
            guard let sender = number(until: dot), let count = number(until: dot), let time = number(until: Self.mark)
            else { return nil }
            return (sender, count, time)
        }
        guard let (sender, number, time) = values else { return nil }
        self.init(sender: Int(sender), number: Int(number), time: time)
    }
}

/// Text with the places `{{stamp}}`, `{{client}}` and `{{COLUMN}}` of the table of users.
struct PayloadTemplate: Sendable {
    private enum Piece: Sendable { case bytes([UInt8]), stamp, client, column(String) }

    private let pieces: [Piece]

    /// Whether messages can be told apart.
    let hasStamp: Bool

    /// Reads a template of JSON.
    ///
    /// - Throws: `LoadProblem` for a place of an unknown name, and for text that is no JSON.
    init(_ text: String, columns: [String]) throws {
        var pieces: [Piece] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "{{"), let end = rest[start.upperBound...].firstRange(of: "}}"),
            rest[start.upperBound..<end.lowerBound].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
        {
            pieces.append(.bytes(Array(rest[..<start.lowerBound].utf8)))
            let name = String(rest[start.upperBound..<end.lowerBound])
            switch name {
            case "stamp": pieces.append(.stamp)
            case "client": pieces.append(.client)
            case _ where columns.contains(name): pieces.append(.column(name))
            default:
                throw LoadProblem(
                    "the payload '\(text)' names {{\(name)}}: use \((["stamp", "client"] + columns).joined(separator: ", "))"
                )
            }
            rest = rest[end.upperBound...]
        }
        pieces.append(.bytes(Array(rest.utf8)))
        self.pieces = pieces
        self.hasStamp = pieces.contains { if case .stamp = $0 { true } else { false } }
        let sample = self.bytes(MessageStamp(sender: 0, number: 1, time: 2), user: [:])
        do throws(LinkspanError) {
            _ = try Payload(checking: sample[...])
        } catch {
            throw LoadProblem(
                "the payload '\(text)' is not JSON: \(error.message); a text needs quotes inside the template")
        }
    }

    /// The payload of a message.
    func payload(_ stamp: MessageStamp, user: [String: String]) -> Payload {
        Payload(trustedElements: self.bytes(stamp, user: user)[...])
    }

    private func bytes(_ stamp: MessageStamp, user: [String: String]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        for piece in self.pieces {
            switch piece {
            case .bytes(let text): bytes += text
            case .stamp: stamp.write(to: &bytes)
            case .client: bytes += "\(stamp.sender)".utf8
            case .column(let name):
                // The inside of a string of JSON, whose quotes the template has.
                let text = (try? Payload(user[name] ?? ""))?.elements ?? []
                bytes += text.dropFirst().dropLast()
            }
        }
        return bytes
    }
}

/// A mistake in a scenario, in a sentence.
struct LoadProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
