internal import Foundation
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Starscream
internal import TestSupport

/// A socket of Starscream's interface, and everything that has happened on it.
struct ObservedSocket {
    let socket: WebSocket
    let events = Journal<WebSocketEvent>("events of a socket")

    init(_ socket: WebSocket) {
        self.socket = socket
        socket.callbackQueue = DispatchQueue(label: "events of a socket")
        socket.onEvent = { [events = self.events] in events.append($0) }
    }

    /// Makes a socket to a server over the present wire.
    init(
        _ server: PythonServer, _ path: String = "/envelope",
        certPinner: (any CertificatePinning)? = FoundationSecurity(),
        compressionHandler: (any CompressionHandler)? = nil, change: (inout URLRequest) -> Void = { _ in }
    ) {
        var request = server.request(path)
        change(&request)
        self.init(
            WebSocket(request: request, certPinner: certPinner, compressionHandler: compressionHandler))
    }

    /// Connects, and waits until that has happened so many times.
    @discardableResult
    func connected(times: Int = 1) async throws -> [String: String] {
        self.socket.connect()
        let connected = try await self.events.first(times) { $0.fields != nil }
        return connected[times - 1].fields ?? [:]
    }

    /// Waits for the end of a link, or of an attempt.
    func ended(times: Int = 1) async throws -> WebSocketEvent {
        try await self.events.first(times) { $0.isEnd }[times - 1]
    }

    func texts(_ count: Int) async throws -> [String] {
        try await self.events.first(count) { $0.text != nil }.compactMap(\.text)
    }

    /// Has the server of `/envelope` do something, and returns the text of its answer.
    func ask(_ event: String, _ argument: String = "", id: Int = 1) async throws -> String {
        self.socket.write(string: #"{"event":"\#(event)","data":[\#(argument)],"id":\#(id)}"#)
        let start = "{\"ack\":\(id),"
        return try await self.events.first { $0.text?.hasPrefix(start) == true }.text ?? ""
    }
}

extension PythonServer {
    /// A request to this server.
    func request(_ path: String) -> URLRequest {
        var request = URLRequest(url: self.url(path))
        request.timeoutInterval = 20
        return request
    }

    func url(_ path: String) -> URL {
        URL(string: "\(self.isSecure ? "wss" : "ws")://127.0.0.1:\(self.port)\(path)") ?? URL(fileURLWithPath: "/")
    }
}

/// Runs a test whose sockets use the back end of the present wire, and trust its servers.
func withStarscream(
    trusting server: PythonServer? = nil,
    _ change: @escaping @Sendable (inout WebSocketConfiguration) -> Void = { _ in },
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws {
    let (network, tls) = (Wire.current.network, server?.isSecure == true ? server?.tls : nil)
    WebSocket.configure = {
        $0.network = network
        if let tls { $0.tls = tls }
        change(&$0)
    }
    defer { WebSocket.configure = { _ in } }
    try await body()
}

extension WebSocketEvent {
    var fields: [String: String]? { if case .connected(let fields) = self { fields } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var data: Data? { if case .binary(let data) = self { data } else { nil } }
    var ping: Data? { if case .ping(let data) = self { data } else { nil } }
    var pong: Data? { if case .pong(let data) = self { data } else { nil } }
    var isCancelled: Bool { if case .cancelled = self { true } else { false } }
    var isPeerClosed: Bool { if case .peerClosed = self { true } else { false } }
    var error: WSError? { if case .error(let error) = self { error as? WSError } else { nil } }
    var close: (reason: String, code: UInt16)? {
        if case .disconnected(let reason, let code) = self { (reason, code) } else { nil }
    }

    /// Whether it ends a link or an attempt.
    var isEnd: Bool {
        switch self {
        case .disconnected, .error, .cancelled, .peerClosed: true
        case .connected, .text, .binary, .ping, .pong, .viabilityChanged, .reconnectSuggested: false
        }
    }
}
