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
        let body = DER(tag: 0, content: der[...]).values.first?.values.first?.values ?? []
        // The version may be missing; serial number and algorithm follow it.
        let fields = Array(body.drop { $0.tag == 0xA0 }.dropFirst(2))
        guard fields.count > 2, case let times = fields[1].values.compactMap(\.time), times.count == 2 else {
            return nil
        }
        (self.issuer, self.from, self.until, self.subject) = (fields[0].name, times[0], times[1], fields[2].name)
        self.names = fields.first { $0.tag == 0xA3 }?.hosts ?? []
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

/// A value of DER (X.690): tag and content.
private struct DER {
    var tag: UInt8
    var content: ArraySlice<UInt8>

    /// The values in the content, up to the first malformed one.
    var values: [DER] {
        var (rest, values) = (self.content, [DER]())
        while let tag = rest.popFirst(), var count = rest.popFirst().map(Int.init) {
            if count > 0x80 {
                let digits = rest.prefix(count - 0x80)
                guard count <= 0x83 else { break }
                rest = rest.dropFirst(digits.count)
                count = digits.reduce(0) { $0 << 8 | Int($1) }
            }
            guard rest.count >= count else { break }
            values.append(DER(tag: tag, content: rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return values
    }

    private var text: String { String(decoding: self.content, as: UTF8.self) }

    /// A time; nil for another value.
    var time: Date? {
        // The year has two digits until 2049.
        let century = self.tag == 0x18 ? "" : self.text < "5" ? "20" : "19"
        let time = (century + self.text).wholeMatch(of: /(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\dZ)/)?.output
        guard let time else { return nil }
        return try? Date("\(time.1)-\(time.2)-\(time.3)T\(time.4):\(time.5):\(time.6)", strategy: .iso8601)
    }

    /// The common name of a distinguished name, or else its organisation.
    var name: String {
        let fields = self.values.flatMap(\.values).map(\.values).filter { $0.count == 2 }
        let names = [3, 10].compactMap { kind in fields.first { Array($0[0].content) == [0x55, 0x04, kind] }?[1].text }
        return names.first ?? "nobody"
    }

    /// The names of hosts and the IPv4 addresses among extensions.
    var hosts: [String] {
        let extensions = self.values.flatMap(\.values).map(\.values)
        let names = extensions.first { $0.first.map { Array($0.content) } == [0x55, 0x1D, 0x11] }?.last
        return (names?.values.flatMap(\.values) ?? []).compactMap { value in
            switch value.tag {
            case 0x82: value.text
            case 0x87 where value.content.count == 4: value.content.map(String.init).joined(separator: ".")
            default: nil
            }
        }
    }
}
