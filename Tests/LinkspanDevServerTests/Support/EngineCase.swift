internal import Testing

/// The cases of the official test suite of the Engine.IO protocol, revision 4, by their titles.
enum EngineCase: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case pollingHandshake = "handshake, HTTP long-polling: successfully opens a session"
    case pollingVersion = "handshake, HTTP long-polling: fails with an invalid 'EIO' query parameter"
    case pollingTransport = "handshake, HTTP long-polling: fails with an invalid 'transport' query parameter"
    case pollingMethod = "handshake, HTTP long-polling: fails with an invalid request method"
    case webSocketHandshake = "handshake, WebSocket: successfully opens a session"
    case webSocketVersion = "handshake, WebSocket: fails with an invalid 'EIO' query parameter"
    case webSocketTransport = "handshake, WebSocket: fails with an invalid 'transport' query parameter"

    case pollingText = "message, HTTP long-polling: sends and receives a payload containing one plain text packet"
    case pollingTexts = "message, HTTP long-polling: sends and receives a payload containing several plain text packets"
    case pollingBinary =
        "message, HTTP long-polling: sends and receives a payload containing plain text and binary packets"
    case pollingMalformed = "message, HTTP long-polling: closes the session upon invalid packet format"
    case twoPolls = "message, HTTP long-polling: closes the session upon duplicate poll requests"
    case cancelledPoll = "message, HTTP long-polling: closes the session upon cancelled polling request"
    case webSocketText = "message, WebSocket: sends and receives a plain text packet"
    case webSocketBinary = "message, WebSocket: sends and receives a binary packet"
    case webSocketMalformed = "message, WebSocket: closes the session upon invalid packet format"

    case pollingHeartbeat = "heartbeat, HTTP long-polling: sends ping/pong packets"
    case pollingSilence = "heartbeat, HTTP long-polling: closes the session upon ping timeout"
    case webSocketHeartbeat = "heartbeat, WebSocket: sends ping/pong packets"
    case webSocketSilence = "heartbeat, WebSocket: closes the session upon ping timeout"

    case pollingClose = "close, HTTP long-polling: forcefully closes the session"
    case webSocketClose = "close, WebSocket: forcefully closes the session"

    case upgrade = "upgrade: successfully upgrades from HTTP long-polling to WebSocket"
    case requestAfterUpgrade = "upgrade: ignores HTTP requests with same sid after upgrade"
    case webSocketAfterUpgrade = "upgrade: ignores WebSocket connection with same sid after upgrade"

    /// Those that the suite of the Socket.IO protocol, revision 5, has too: all but those on messages.
    static let ofSocketIO = Self.allCases.filter { !$0.rawValue.hasPrefix("message") }

    var testDescription: String { self.rawValue }
}
