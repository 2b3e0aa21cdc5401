import Foundation
import Starscream

// Every name and call of the documents of Starscream 4, each used at least once.
class EveryCall: WebSocketDelegate {
    let socket: WebSocket
    var names: [String] = []

    init(request: URLRequest) {
        socket = WebSocket(request: request)
        let pinner = FoundationSecurity(allowSelfSigned: false)
        _ = WebSocket(request: request, certPinner: pinner)
        _ = WebSocket(request: request, certPinner: FoundationSecurity())
        let compression = WSCompression()
        _ = WebSocket(request: request, compressionHandler: compression)
        _ = WebSocket(request: request, useCustomEngine: false)
        _ = WebSocket(request: request, certPinner: pinner, compressionHandler: compression, useCustomEngine: true)
        _ = WebSocket(request: request, certPinner: nil, compressionHandler: nil)
        socket.delegate = self
        socket.onEvent = { [weak self] event in self?.names.append(self?.name(event) ?? "") }
        socket.callbackQueue = DispatchQueue(label: "com.vluxe.starscream.myapp")
        socket.respondToPingWithPong = true
        socket.request.timeoutInterval = 5
        socket.request.setValue("someother protocols", forHTTPHeaderField: "Sec-WebSocket-Protocol")
        socket.request.setValue("14", forHTTPHeaderField: "Sec-WebSocket-Version")
        socket.request.setValue("Everything is Awesome!", forHTTPHeaderField: "My-Awesome-Header")
    }

    func run() {
        socket.connect()
        socket.write(string: "Hi Server!")
        socket.write(string: "Hi Server!", completion: nil)
        socket.write(string: "Hi Server!") { self.names.append("written") }
        socket.write(stringData: Data("Hi Server!".utf8), completion: nil)
        socket.write(data: Data([1]))
        socket.write(data: Data([1]), completion: nil)
        socket.write(ping: Data())
        socket.write(ping: Data([1]), completion: nil)
        socket.write(pong: Data())
        socket.write(pong: Data([1]), completion: nil)
        socket.disconnect()
        socket.disconnect(closeCode: CloseCode.normal.rawValue)
        socket.forceDisconnect()
        socket.didReceive(event: .cancelled)
        drive(socket)
    }

    func drive(_ client: WebSocketClient) {
        client.connect()
        client.write(string: "a")
        client.write(string: "a", completion: nil)
        client.write(stringData: Data(), completion: nil)
        client.write(data: Data(), completion: nil)
        client.write(ping: Data(), completion: nil)
        client.write(pong: Data(), completion: nil)
        client.disconnect(closeCode: CloseCode.goingAway.rawValue)
        client.disconnect()
    }

    func didReceive(event: WebSocketEvent, client: WebSocketClient) {}

    func name(_ event: WebSocketEvent) -> String {
        switch event {
        case .connected(let headers): return "\(headers)"
        case .disconnected(let reason, let code): return "\(reason) \(code)"
        case .text(let string): return string
        case .binary(let data): return "\(data.count)"
        case .pong(let data): return "\(data?.count ?? 0)"
        case .ping(let data): return "\(data?.count ?? 0)"
        case .error(let error): return describe(error)
        case .viabilityChanged(let isViable): return "\(isViable)"
        case .reconnectSuggested(let isBetter): return "\(isBetter)"
        case .cancelled: return "cancelled"
        case .peerClosed: return "closed"
        }
    }

    func describe(_ error: Error?) -> String {
        switch error {
        case HTTPUpgradeError.notAnUpgrade(let status, let headers)?: return "\(status) \(headers)"
        case HTTPUpgradeError.invalidData?: return "invalid"
        case let error as WSError:
            switch error.type {
            case .compressionError, .securityError, .protocolError, .serverError:
                return "\(error.code) \(error.message)"
            }
        default: return error?.localizedDescription ?? ""
        }
    }

    let codes: [CloseCode] = [
        .normal, .goingAway, .protocolError, .protocolUnhandledType, .noStatusReceived, .encoding, .policyViolated,
        .messageTooBig,
    ]
    let kinds: [ErrorType] = [.compressionError, .securityError, .protocolError, .serverError]
    let error = WSError(type: .serverError, message: "made by an app", code: 0)
    let securityCodes: [SecurityErrorCode] = [.acceptFailed, .pinningFailed]
}

// A class of an app's own over the socket, as libraries have it.
class OwnSocket: WebSocket {
    var room = ""
}

// A double for tests in place of a socket.
class SilentClient: WebSocketClient {
    init() {}
    func connect() {}
    func disconnect(closeCode: UInt16) {}
    func write(string: String, completion: (() -> ())?) { completion?() }
    func write(stringData: Data, completion: (() -> ())?) { completion?() }
    func write(data: Data, completion: (() -> ())?) { completion?() }
    func write(ping: Data, completion: (() -> ())?) { completion?() }
    func write(pong: Data, completion: (() -> ())?) { completion?() }
}
