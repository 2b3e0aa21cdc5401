internal import Linkspan

/// The server's secret and the last event, by which a namespace is resumed after a loss (connection state recovery).
struct SocketIORecovery: Sendable, Hashable {
    /// The longest secret that is kept.
    static let maximumLength = 256

    /// The server's private name for the session.
    var pid: Secret
    /// The offset at which its replay would go on; without one it resumes nothing.
    var offset: RecoveryOffset
}

extension SocketIORecovery {
    /// Reads what ``exported`` wrote; nil when it is anything else.
    init?(_ resumption: Secret) {
        guard let payload = try? Payload(checking: Array(resumption.exposed.utf8)[...]),
            let pid = payload[0]?.string, let offset = payload[1]?.string, payload[2] == nil,
            (1...Self.maximumLength).contains(pid.utf8.count),
            (1...RecoveryOffset.maximumLength).contains(offset.utf8.count)
        else { return nil }
        self.init(pid: Secret(pid), offset: RecoveryOffset(latest: offset))
    }

    /// The recovery for the next link, of this process or another; nil when there is nothing to resume from.
    var exported: Secret? {
        guard let offset = self.offset.latest, let payload = try? Payload(self.pid.exposed, offset) else { return nil }
        return Secret(String(decoding: payload.elements, as: UTF8.self))
    }

    /// The auth object with `pid` and `offset` merged in; `auth` is an object's text or empty.
    func merged(into auth: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let offset = self.offset.latest else { return auth }
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
}
