internal import Linkspan

/// What lets the server resume a namespace after a loss (connection state recovery): its secret and the last event.
struct SocketIORecovery: Sendable, Hashable {
    /// The longest secret and offset that are kept.
    static let maximumLength = 256

    /// The server's private name for the session.
    var pid: Secret
    /// What the server appended to the last event that it would repeat.
    ///
    /// Without one, it resumes nothing.
    var offset: String?

    /// The auth object with `pid` and `offset` merged in; `auth` is an object's text or empty.
    func merged(into auth: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let offset = self.offset else { return auth }
        guard let own = try? Payload(self.pid.exposed, offset), let pid = own[0]?.text, let offset = own[1]?.text else {
            return auth
        }
        // Behind the opening brace. Members of `auth` follow, so that with doubled keys the caller's win.
        var merged: [UInt8] = Array("{\"pid\":".utf8) + pid + Array(",\"offset\":".utf8) + offset
        let members = auth.dropFirst()
        let isEmpty = members.first { $0 > 0x20 }.map { $0 == UInt8(ascii: "}") } ?? true
        if isEmpty {
            merged.append(UInt8(ascii: "}"))
        } else {
            merged.append(UInt8(ascii: ","))
            merged.append(contentsOf: members)
        }
        return merged[...]
    }

    /// The offset in an event's arguments: the last one, when it is a string.
    ///
    /// Read backwards, because it is looked for in every event. A string with escapes or one that is too long is none.
    static func offset(in elements: ArraySlice<UInt8>) -> String? {
        guard elements.last == UInt8(ascii: "\"") else { return nil }
        let body = elements.dropLast()
        guard let quote = body.lastIndex(of: UInt8(ascii: "\"")) else { return nil }
        let text = body[(quote + 1)...]
        guard text.count <= Self.maximumLength, !text.isEmpty, !text.contains(UInt8(ascii: "\\")) else { return nil }
        // Before the quote there may be only the comma: otherwise the quote ended a string that has an escaped one.
        let before = body[..<quote].last { $0 > 0x20 }
        guard before == nil || before == UInt8(ascii: ",") else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
