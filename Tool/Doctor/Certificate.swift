import Foundation

/// The names and dates of an X.509 certificate (RFC 5280 section 4.1).
struct Certificate: Codable, Sendable {
    var subject = ""
    var issuer = ""
    /// The hosts in its subjectAltName.
    var names: [String] = []
    var from = Date.distantPast
    var until = Date.distantFuture

    /// Reads a certificate in DER; nil for anything else.
    init?(der: [UInt8]) {
        var file = DER(rest: der[...])
        guard var certificate = file.take(0x30), var body = certificate.take(0x30) else { return nil }
        // Version, serial number and algorithm.
        _ = (body.take(0xA0), body.take(), body.take())
        guard let issuer = body.take(0x30), var validity = body.take(0x30), let subject = body.take(0x30),
            let from = validity.takeTime(), let until = validity.takeTime()
        else { return nil }
        (self.subject, self.issuer, self.from, self.until) = (subject.name, issuer.name, from, until)
        while let (tag, field) = body.take() { if tag == 0xA3 { self.names = field.hosts } }
    }

    /// Subject, issuer and validity, as a sentence.
    var sentence: String {
        let hosts = self.names.isEmpty ? "" : " for \(self.names.prefix(5).joined(separator: ", "))"
        return "\(self.subject)\(hosts), issued by \(self.issuer), valid from \(Self.day(self.from)) "
            + self.ending
    }

    /// The end of its validity, with a warning in the last 30 days.
    var ending: String { "until \(Self.day(self.until))\(self.warning)" }

    private var warning: String {
        let days = Int((self.until.timeIntervalSinceNow / 86_400).rounded(.down))
        return (0..<30).contains(days) ? " (ends in \(days == 1 ? "1 day" : "\(days) days"): renew it)" : ""
    }

    private static func day(_ date: Date) -> String { String(date.ISO8601Format().prefix(10)) }
}

/// Values of DER one after the other (X.690): tag, length, content.
private struct DER {
    var rest: ArraySlice<UInt8>

    /// Takes the next value.
    mutating func take() -> (tag: UInt8, content: DER)? {
        var left = self.rest
        guard let tag = left.popFirst(), var count = left.popFirst().map(Int.init) else { return nil }
        if count > 0x80 {
            guard count <= 0x83, left.count >= count - 0x80 else { return nil }
            let digits = left.prefix(count - 0x80)
            left = left.dropFirst(digits.count)
            count = digits.reduce(0) { $0 << 8 | Int($1) }
        }
        guard left.count >= count else { return nil }
        self.rest = left.dropFirst(count)
        return (tag, DER(rest: left.prefix(count)))
    }

    /// Takes the next value if it has this tag.
    mutating func take(_ tag: UInt8) -> DER? { self.rest.first == tag ? self.take()?.content : nil }

    mutating func takeTime() -> Date? {
        guard let (tag, content) = self.take() else { return nil }
        let text = String(decoding: content.rest, as: UTF8.self)
        // The year has two digits until 2049.
        let isLong = tag == 0x18
        let digits = isLong ? text : (text < "5" ? "20" : "19") + text
        guard digits.utf8.count == 15, digits.hasSuffix("Z") else { return nil }
        let day = "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.dropFirst(6).prefix(2))"
        let time = "\(digits.dropFirst(8).prefix(2)):\(digits.dropFirst(10).prefix(2)):\(digits.dropFirst(12))"
        return try? Date("\(day)T\(time)", strategy: .iso8601)
    }

    /// The values of a sequence or set.
    private var values: [(tag: UInt8, content: DER)] {
        var (left, values) = (self, [(tag: UInt8, content: DER)]())
        while let value = left.take() { values.append(value) }
        return values
    }

    /// The common name of a distinguished name, or else its organisation.
    var name: String {
        let pairs = self.values.flatMap(\.content.values).map(\.content.values).filter { $0.count == 2 }
        let fields = pairs.map { (Array($0[0].content.rest), String(decoding: $0[1].content.rest, as: UTF8.self)) }
        return [3, 10].compactMap { kind in fields.first { $0.0 == [0x55, 0x04, kind] }?.1 }.first ?? "nobody"
    }

    /// The names of hosts and the IPv4 addresses among extensions.
    var hosts: [String] {
        let extensions = self.values.flatMap(\.content.values).map(\.content.values)
        let names = extensions.first { $0.first.map { Array($0.content.rest) } == [0x55, 0x1D, 0x11] }?.last?.content
        return (names?.values.flatMap(\.content.values) ?? []).compactMap { tag, content in
            switch tag {
            case 0x82: String(decoding: content.rest, as: UTF8.self)
            case 0x87 where content.rest.count == 4: content.rest.map(String.init).joined(separator: ".")
            default: nil
            }
        }
    }
}
