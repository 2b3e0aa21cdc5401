internal import Foundation
@testable internal import OldStarscreamPrograms
internal import Starscream
internal import TestSupport
internal import Testing

/// The public names and calls in the documents of Starscream 4.0.8, and the line of the program that uses each.
private let calls: [(name: String, line: String)] = [
    ("WebSocket.init(request:)", "socket = WebSocket(request: request)"),
    ("WebSocket.init(request:certPinner:)", "_ = WebSocket(request: request, certPinner: pinner)"),
    ("WebSocket.init(request:compressionHandler:)", "_ = WebSocket(request: request, compressionHandler: compression)"),
    ("WebSocket.init(request:useCustomEngine:)", "_ = WebSocket(request: request, useCustomEngine: false)"),
    (
        "WebSocket.init(request:certPinner:compressionHandler:useCustomEngine:)",
        "_ = WebSocket(request: request, certPinner: pinner, compressionHandler: compression, useCustomEngine: true)"
    ),
    ("WebSocket.delegate", "socket.delegate = self"),
    ("WebSocket.onEvent", "socket.onEvent = { [weak self] event in self?.names.append(self?.name(event) ?? \"\") }"),
    ("WebSocket.callbackQueue", "socket.callbackQueue = DispatchQueue(label: \"com.vluxe.starscream.myapp\")"),
    ("WebSocket.respondToPingWithPong", "socket.respondToPingWithPong = true"),
    ("WebSocket.request", "socket.request.timeoutInterval = 5"),
    (
        "Sec-WebSocket-Protocol",
        "socket.request.setValue(\"someother protocols\", forHTTPHeaderField: \"Sec-WebSocket-Protocol\")"
    ),
    ("Sec-WebSocket-Version", "socket.request.setValue(\"14\", forHTTPHeaderField: \"Sec-WebSocket-Version\")"),
    (
        "custom header fields",
        "socket.request.setValue(\"Everything is Awesome!\", forHTTPHeaderField: \"My-Awesome-Header\")"
    ),
    ("WebSocket.connect()", "socket.connect()"),
    ("WebSocket.write(string:)", "socket.write(string: \"Hi Server!\")"),
    ("WebSocket.write(string:completion:)", "socket.write(string: \"Hi Server!\") { self.names.append(\"written\") }"),
    ("WebSocket.write(stringData:completion:)", "socket.write(stringData: Data(\"Hi Server!\".utf8), completion: nil)"),
    ("WebSocket.write(data:)", "socket.write(data: Data([1]))"),
    ("WebSocket.write(data:completion:)", "socket.write(data: Data([1]), completion: nil)"),
    ("WebSocket.write(ping:)", "socket.write(ping: Data())"),
    ("WebSocket.write(ping:completion:)", "socket.write(ping: Data([1]), completion: nil)"),
    ("WebSocket.write(pong:)", "socket.write(pong: Data())"),
    ("WebSocket.write(pong:completion:)", "socket.write(pong: Data([1]), completion: nil)"),
    ("WebSocket.disconnect()", "socket.disconnect()"),
    ("WebSocket.disconnect(closeCode:)", "socket.disconnect(closeCode: CloseCode.normal.rawValue)"),
    ("WebSocket.forceDisconnect()", "socket.forceDisconnect()"),
    ("WebSocket.didReceive(event:)", "socket.didReceive(event: .cancelled)"),
    ("a subclass of WebSocket", "class OwnSocket: WebSocket {"),
    ("WebSocketClient", "class SilentClient: WebSocketClient {"),
    ("WebSocketClient.connect()", "client.connect()"),
    ("WebSocketClient.write(string:)", "client.write(string: \"a\")"),
    ("WebSocketClient.write(string:completion:)", "client.write(string: \"a\", completion: nil)"),
    ("WebSocketClient.write(stringData:completion:)", "client.write(stringData: Data(), completion: nil)"),
    ("WebSocketClient.write(data:completion:)", "client.write(data: Data(), completion: nil)"),
    ("WebSocketClient.write(ping:completion:)", "client.write(ping: Data(), completion: nil)"),
    ("WebSocketClient.write(pong:completion:)", "client.write(pong: Data(), completion: nil)"),
    ("WebSocketClient.disconnect(closeCode:)", "client.disconnect(closeCode: CloseCode.goingAway.rawValue)"),
    ("WebSocketClient.disconnect()", "client.disconnect()"),
    ("WebSocketDelegate", "class EveryCall: WebSocketDelegate {"),
    (
        "WebSocketDelegate.didReceive(event:client:)",
        "func didReceive(event: WebSocketEvent, client: WebSocketClient) {}"
    ),
    ("WebSocketEvent.connected", "case .connected(let headers): return \"\\(headers)\""),
    ("WebSocketEvent.disconnected", "case .disconnected(let reason, let code): return \"\\(reason) \\(code)\""),
    ("WebSocketEvent.text", "case .text(let string): return string"),
    ("WebSocketEvent.binary", "case .binary(let data): return \"\\(data.count)\""),
    ("WebSocketEvent.pong", "case .pong(let data): return \"\\(data?.count ?? 0)\""),
    ("WebSocketEvent.ping", "case .ping(let data): return \"\\(data?.count ?? 0)\""),
    ("WebSocketEvent.error", "case .error(let error): return describe(error)"),
    ("WebSocketEvent.viabilityChanged", "case .viabilityChanged(let isViable): return \"\\(isViable)\""),
    ("WebSocketEvent.reconnectSuggested", "case .reconnectSuggested(let isBetter): return \"\\(isBetter)\""),
    ("WebSocketEvent.cancelled", "case .cancelled: return \"cancelled\""),
    ("WebSocketEvent.peerClosed", "case .peerClosed: return \"closed\""),
    ("FoundationSecurity.init()", "_ = WebSocket(request: request, certPinner: FoundationSecurity())"),
    ("FoundationSecurity.init(allowSelfSigned:)", "let pinner = FoundationSecurity(allowSelfSigned: false)"),
    ("SecurityErrorCode", "let securityCodes: [SecurityErrorCode] = [.acceptFailed, .pinningFailed]"),
    ("WSCompression", "let compression = WSCompression()"),
    (
        "WSError.init(type:message:code:)",
        "let error = WSError(type: .serverError, message: \"made by an app\", code: 0)"
    ),
    ("ErrorType", "case .compressionError, .securityError, .protocolError, .serverError:"),
    ("WSError", "return \"\\(error.code) \\(error.message)\""),
    (
        "HTTPUpgradeError.notAnUpgrade",
        "case HTTPUpgradeError.notAnUpgrade(let status, let headers)?: return \"\\(status) \\(headers)\""
    ),
    ("HTTPUpgradeError.invalidData", "case HTTPUpgradeError.invalidData?: return \"invalid\""),
    ("CloseCode", "let codes: [CloseCode] = ["),
]

@Suite struct CallListTests {
    @Test
    func `each documented call is in the program that uses every call`() throws {
        let program = try SourceFiles.text("Tests/OldStarscreamPrograms/EveryCall.swift")
        let lines = Set(program.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
        #expect(Set(calls.map(\.name)).count == calls.count)
        for call in calls { #expect(lines.contains(call.line), "\(call.name) is not used") }
    }

    @Test
    func `old programs import nothing but Foundation and Starscream`() throws {
        let imports = try SourceFiles.imports("Tests/OldStarscreamPrograms")
        #expect(imports == ["import Foundation", "import Starscream"])
    }

    @Test
    func `the program that uses every call runs without a server`() throws {
        let url = try #require(URL(string: "ws://127.0.0.1:9/"))
        EveryCall(request: URLRequest(url: url)).run()
    }

    @Test
    func `a subclass and a double of a socket work like the socket`() throws {
        let url = try #require(URL(string: "ws://127.0.0.1:9/"))
        #expect(OwnSocket(request: URLRequest(url: url)).request.url == url)
        var written = 0
        SilentClient().write(string: "one") { written += 1 }
        #expect(written == 1)
    }
}

@Suite struct UnavailableTests {
    /// The public names of Starscream 4.0.8 that are not offered.
    private static let names = [
        "Engine", "EngineDelegate", "PinningState", "WSEngine", "NativeEngine", "Transport", "TransportEventClient",
        "ConnectionState", "TCPTransport",
        "TCPTransportError", "FoundationTransport", "FoundationTransportError", "Framer", "WSFramer",
        "Frame", "FrameOpCode", "FrameCollector", "HTTPHandler",
        "HTTPHandlerDelegate", "HTTPEvent", "HTTPServerHandler", "HTTPServerDelegate", "FoundationHTTPHandler",
        "FoundationHTTPServerHandler", "StringHTTPHandler", "HTTPWSHeader", "HeaderValidator", "URLParts",
        "FoundationSecurityError", "Server", "WebSocketServer", "ServerConnection", "ServerEvent", "Connection",
        "ConnectionEvent", "ConnectionDelegate", "init(request: URLRequest, engine", "FrameEvent", "FramerEventClient",
        "FrameCollectorDelegate", "load", "compress", "decompress", "validate", "getParts",
    ]

    @Test
    func `each name that cannot exist is unavailable, with a message`() throws {
        let files = try ["Unavailable", "WebSocket"].map {
            try SourceFiles.text("Plugins/Compatibility/Starscream/\($0).swift")
        }
        let lines = files.joined().split(separator: "\n")
        let declared = zip(lines, lines.dropFirst()).filter { $0.0.contains("@available(*, unavailable, message: \"") }
            .map { "\($0)\n\($1)" }.filter { !$0.contains("struct NotOffered") }
        for name in Self.names {
            let found = declared.filter { line in
                ["typealias \(name) ", "func \(name)(", "convenience \(name)"].contains { line.contains($0) }
            }
            #expect(found.count == 1, "\(name)")
        }
        #expect(declared.count == Self.names.count)
    }
}

@Suite struct DifferencesTests {
    @Test
    func `each row of the table names a test there is`() throws {
        let folder = "Tests/InteropTests/Starscream"
        let tests =
            try SourceFiles.names(folder).map { try SourceFiles.text("\(folder)/\($0)") }.joined()
            + ["CallListTests", "FurtherProgramTests"]
            .map { try SourceFiles.text("Tests/StarscreamTests/\($0).swift") }.joined()
        let page = try SourceFiles.text(
            "Plugins/Compatibility/Starscream/Documentation.docc/DifferencesFromStarscream.md")
        let proofs = page.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("Tests`: ") }
            .compactMap { $0.components(separatedBy: "Tests`: ").last?.dropLast(2) }
        #expect(proofs.count > 25)
        for proof in proofs { #expect(tests.contains("func `\(proof)`()"), "\(proof)") }
    }
}
