#if Encryption && Tracing
internal import Crypto
internal import Foundation
internal import LinkspanKit
internal import LinkspanEncryption
internal import LinkspanServices
internal import LinkspanTesting
internal import LinkspanTelemetry
internal import Testing

// The examples of interceptors, endpoints, presence and history, word for word. They are compiled, not run.

private struct Keychain: Sendable {
    func messageKey(_ id: String?) throws -> (id: String, data: Data) { (id ?? "k1", Data(count: 32)) }
}

final class TenantStamp: Interceptor {
    let name = "tenant"

    func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
        guard !message.isReply else { return }
        try message.payload.setField("tenant", to: "acme")
    }
}

private enum RoomExamples {
    struct Line: Decodable, Sendable {
        var seq: Int
    }

    static func show(_ line: Line) {}
    static func showGap(_ lost: Int?) {}

    static func endpoints() throws {
        let connection = try ConnectionBuilder("https://eu.chat.example")
            .transport(.socketIO)
            .options { $0.endpoints.urls = ["https://us.chat.example"] }
            .connect()
        connection.release()
    }

    static func encryption(_ keychain: Keychain) throws {
        let encryption = PayloadEncryption { id in
            let entry = try keychain.messageKey(id)
            return (entry.id, SymmetricKey(data: entry.data))
        }
        let connection = try ConnectionBuilder("https://chat.example")
            .transport(.socketIO)
            .options { $0.interceptors = [encryption] }
            .connect()
        connection.release()
    }

    static func tracing() throws {
        let connection = try ConnectionBuilder("https://chat.example")
            .transport(.socketIO)
            .options { $0.interceptors = [TracingInterceptor()] }
            .connect()
        connection.release()
    }

    static func presence(_ connection: ConnectionHandler) throws {
        let people = try PresenceSet<String>(
            over: connection, joined: "joined", left: "left",
            entry: { ("who", try Payload(["room": "lobby"])) }
        ) { difference in
            for name in difference.joined { print("\(name) is here") }
        }
        people.end()
    }

    static func history(_ connection: ConnectionHandler, lastSeen: Int?) throws {
        let lobby = try MessageHistory<Line>(
            over: connection, after: lastSeen, event: "message", offset: { $0.seq },
            missed: { after in ("since", try Payload(after)) }
        ) { news in
            switch news {
            case .item(let line): show(line)
            case .gap(let lost): showGap(lost)
            }
        }
        lobby.end()
    }
}
#endif
