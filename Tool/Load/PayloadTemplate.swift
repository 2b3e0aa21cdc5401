import ArgumentParser
import Foundation
import Linkspan

/// Where a message comes from, and when it was due: a short text that a server passes on inside the payload.
struct MessageStamp: Equatable, Sendable {
    var sender: Int
    var number: Int
    /// The nanoseconds from the beginning of the run to the time at which the message was due.
    var time: Int64

    private static let mark = UInt8(ascii: "~")

    /// The most bytes of a stamp: three numbers of 19 digits, two marks and two dots.
    static let length = 61

    /// The stamp as `~SENDER.NUMBER.TIME~`.
    ///
    /// From its end, digit by digit on the stack: a `String`, or appending each digit, would cost more than the message.
    func write(to bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.length) { place in
            var start = Self.length
            func write(_ value: Int64, before end: UInt8) {
                start &-= 1
                place[start] = end
                var rest = value.magnitude
                repeat {
                    start &-= 1
                    place[start] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                } while rest > 0
            }
            write(self.time, before: Self.mark)
            write(Int64(self.number), before: UInt8(ascii: "."))
            write(Int64(self.sender), before: UInt8(ascii: "."))
            start -= 1
            place[start] = Self.mark
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: place[start...]))
        }
    }

    init(sender: Int, number: Int, time: Int64) { (self.sender, self.number, self.time) = (sender, number, time) }

    /// Finds a stamp in a payload.
    init?(in text: ArraySlice<UInt8>) {
        let values = text.withUnsafeBufferPointer { bytes -> (Int64, Int64, Int64)? in
            guard let base = bytes.baseAddress, let mark = memchr(base, Int32(Self.mark), bytes.count) else {
                return nil
            }
            var place = UnsafeRawPointer(mark) - UnsafeRawPointer(base)
            func number(until end: UInt8) -> Int64? {
                var value: Int64 = 0
                let start = place + 1
                // So many digits that a number cannot overflow.
                let limit = min(bytes.count, start + 19)
                place = start
                while place < limit, case let digit = bytes[place] &- 48, digit < 10 {
                    value = value &* 10 &+ Int64(digit)
                    place &+= 1
                }
                return place > start && place < limit && bytes[place] == end ? value : nil
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
    private enum Place: Sendable { case stamp, client, column(String) }

    /// The places, each with the text before it.
    private let parts: [(text: [UInt8], place: Place)]
    /// The text behind the last place.
    private let rest: [UInt8]
    /// Room for a message whose stamps are as long as can be.
    let capacity: Int

    /// Whether messages can be told apart.
    var hasStamp: Bool { self.parts.contains { if case .stamp = $0.place { true } else { false } } }

    /// Reads a template of JSON.
    ///
    /// - Throws: `ValidationError` for a place of an unknown name, and for text that is no JSON.
    init(_ text: String, columns: [String]) throws {
        var (parts, end): ([(text: [UInt8], place: Place)], String.Index) = ([], text.startIndex)
        for found in text.matches(of: /\{\{(\w*)\}\}/) {
            let place: Place
            switch String(found.1) {
            case "stamp": place = .stamp
            case "client": place = .client
            case let name where columns.contains(name): place = .column(name)
            case let name:
                let names = (["stamp", "client"] + columns).joined(separator: ", ")
                throw ValidationError("the payload '\(text)' names {{\(name)}}: use \(names)")
            }
            parts.append((Array(text[end..<found.range.lowerBound].utf8), place))
            end = found.range.upperBound
        }
        (self.parts, self.rest) = (parts, Array(text[end...].utf8))
        self.capacity = parts.reduce(self.rest.count) { $0 + $1.text.count + MessageStamp.length }
        let sample = self.bytes(MessageStamp(sender: 0, number: 1, time: 2), user: [:])
        do throws(LinkspanError) {
            _ = try Payload(checking: sample[...])
        } catch {
            throw ValidationError(
                "the payload '\(text)' is not JSON: \(error.message); a text needs quotes inside the template")
        }
    }

    /// The payload of a message.
    func payload(_ stamp: MessageStamp, user: [String: String]) -> Payload {
        Payload(trustedElements: self.bytes(stamp, user: user)[...])
    }

    private func bytes(_ stamp: MessageStamp, user: [String: String]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.capacity)
        for (text, place) in self.parts {
            bytes += text
            switch place {
            case .stamp: stamp.write(to: &bytes)
            case .client: bytes += "\(stamp.sender)".utf8
            case .column(let column):
                // The inside of a string of JSON, whose quotes the template has.
                let text = (try? Payload(user[column] ?? ""))?.elements ?? []
                bytes += text.dropFirst().dropLast()
            }
        }
        bytes += self.rest
        return bytes
    }
}
