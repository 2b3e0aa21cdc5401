internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
@testable internal import SocketIO
internal import TestSupport
internal import Testing

/// How options change the configuration, the credentials and the attempts of a manager's links; no server is needed.
struct TermsTests {
    @Test
    func `a carrier is forced until that is taken back, and the other one's option says nothing of it`() {
        let cases: [([SocketIOClientOption], SocketIOCarriers)] = [
            ([], .upgrade), ([.forcePolling(true)], .polling), ([.forceWebsockets(true)], .webSocket),
            ([.forcePolling(true), .forcePolling(false)], .upgrade),
            ([.forceWebsockets(true), .forceWebsockets(false)], .upgrade),
            ([.forceWebsockets(true), .forcePolling(false)], .webSocket),
            ([.forcePolling(true), .forceWebsockets(false)], .polling),
        ]
        for (options, carriers) in cases {
            let terms = options.reduce(Terms()) { $0.changed(by: [$1]) }
            #expect(terms.configuration.carriers == carriers, "\(options)")
        }
    }

    @Test
    func `an option that cannot be followed is a problem until others are given`() {
        let refused = Terms().changed(by: [.enableSOCKSProxy(true)])
        #expect(refused.problem?.code == .invalidConfiguration)
        #expect(refused.changed(by: []).problem == nil)
    }

    @Test
    func `a payload is for servers of 3_x and 4_x, and cookies and header fields are for all`() throws {
        let cookie = HTTPCookie(properties: [.name: "a", .value: "1", .domain: "h", .path: "/"])
        let options: SocketIOClientConfiguration = [
            .cookies([try #require(cookie)]), .extraHeaders(["X-App": "2"]), .path("live"),
        ]
        for (version, hasPayload) in [(SocketIOVersion.two, false), (.three, true)] {
            let terms = Terms().changed(by: options + [.version(version)])
            let credentials = terms.credentials(try Payload(["token": "3"]))
            #expect((credentials.auth != nil) == hasPayload)
            #expect(credentials.headers.map(\.name) == ["Cookie", "X-App"])
            #expect(credentials.headers.map(\.value.exposed) == ["a=1", "2"])
            #expect(terms.configuration.path == "/live/")
        }
    }

    @Test
    func `without a further attempt none follows the first`() {
        let question = RetryQuestion(error: LinkspanError(.connectionLost, "lost"), failures: 1, random: 0)
        for (attempts, isTried) in [(0, false), (1, true), (-1, true)] {
            #expect((Retry(attempts: attempts).delay(for: question) != nil) == isTried)
        }
    }

    @Test
    func `a wait is never longer than the longest, nor that shorter than the shortest`() {
        let question = RetryQuestion(error: LinkspanError(.connectionLost, "lost"), failures: 2, random: 0)
        #expect(Retry(wait: 10, waitMax: 5).delay(for: question) == .seconds(10))
    }

    @Test
    func `a session has its name until its end, also while its link is lost`() throws {
        let manager = SocketManager(socketURL: try #require(URL(string: "http://127.0.0.1:9")))
        let socket = manager.defaultSocket
        #expect(socket.sid == nil)
        socket.didConnect(toNamespace: "/", payload: ["sid": "x"])
        #expect(socket.sid == "x" && socket.status == .connected)
        socket.setReconnecting(reason: "lost")
        #expect(socket.sid == "x" && socket.status == .connecting)
        socket.didDisconnect(reason: "end")
        #expect(socket.sid?.isEmpty == true && socket.status == .disconnected)
    }

    @Test
    func `the handler of every event stays when the others are removed`() throws {
        let manager = SocketManager(socketURL: try #require(URL(string: "http://127.0.0.1:9")))
        let socket = manager.defaultSocket
        socket.onAny { _ in }
        socket.on("a") { _, _ in }
        socket.removeAllHandlers()
        #expect(socket.handlers.isEmpty && socket.anyHandler != nil)
    }

    @Test
    func `arguments come as they were sent, however many there are`() throws {
        let payload = try Payload(arguments: ["a", 1, ["b": [true, UInt64.max]]])
        let arguments = payload.arguments
        #expect(arguments.count == 3)
        #expect(arguments[0] as? String == "a" && arguments[1] as? Int == 1)
        let list = (arguments[2] as? [String: [Any]])?["b"]
        #expect(list?.first as? Bool == true && (list?.last as? NSNumber)?.uint64Value == .max)
        let blob = try Payload(arguments: [Data([7])]).arguments
        #expect(blob.count == 1 && blob[0] as? Data == Data([7]))
    }

    @Test
    func `a socket that is up is not connected once more`() throws {
        final class Counting: SocketIOClient {
            var joins = 0
            override func joinNamespace(withPayload payload: [String: Any]? = nil) { self.joins += 1 }
        }
        let manager = SocketManager(socketURL: try #require(URL(string: "http://127.0.0.1:9")))
        let socket = Counting(manager: manager, nsp: "/")
        socket.didConnect(toNamespace: "/", payload: nil)
        socket.connect()
        #expect(socket.joins == 0)
        socket.didDisconnect(reason: "end")
        socket.connect()
        #expect(socket.joins == 1)
    }

    @Test
    func `without a time limit a lost acknowledgement calls nothing, and with any limit NO ACK`() async throws {
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")), config: Carrier.websocket.options)
        let (socket, answers) = (manager.defaultSocket, Journal<String>("answers"))
        for (seconds, name) in [(0, "none"), (.infinity, "long"), (1e-300, "short")] as [(Double, String)] {
            socket.emitWithAck("a").timingOut(after: seconds) { answers.append("\(name) \($0[0])") }
        }
        #expect(try await answers.first(2) == ["long NO ACK", "short NO ACK"])
    }

    @Test(arguments: [
        ("http://h:8/x?y", "http://h:8/n"), ("ws://h", "http://h/n"), ("https://h", "https://h/n"),
        ("wss://h", "https://h/n"), ("http://[::1]:8", "http://[::1]:8/n"),
    ])
    func `a connection waits without end for acknowledgements, and for its next use`(url: String, own: String) throws {
        let manager = SocketManager(socketURL: try #require(URL(string: url)))
        let configuration = try manager.configuration(for: manager.socket(forNamespace: "n"))
        #expect(configuration.url == (try ConnectionURL(own)))
        #expect(configuration.options.idleTimeout == .zero)
        #expect(configuration.options.replyTimeout > .seconds(365 * 24 * 60 * 60))
    }
}
