internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// What configuration files may say of TLS and proxies, the same for both network transports.
    @Suite struct TransportOptionsTests {
        private static let pin = "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
        private static let factories = ["socketio": TransportFactory.socketIO, "websocket": .webSocket]

        private static func make(_ name: String, _ values: [String: any Sendable]) throws -> any Transport {
            try #require(Self.factories[name]).make(OptionValues(values))
        }

        @Test(arguments: ["socketio", "websocket"])
        func `all of it is understood, and explained without secrets`(_ name: String) throws {
            let files = ["ca.pem", "own.pem", "own.key"].map {
                FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString)-\($0)").path
            }
            for file in files { #expect(FileManager.default.createFile(atPath: file, contents: Data("x".utf8))) }
            defer { for file in files { try? FileManager.default.removeItem(atPath: file) } }
            let transport = try Self.make(
                name,
                [
                    "ca": files[0], "systemRoots": true, "pins": [Self.pin],
                    "revokedPins": [Self.pin], "certificate": files[1], "key": files[2],
                    "minimumTLS": "1.3", "proxy": "proxy.example:3128", "proxyUser": "ann",
                    "proxyPassword": "hush",
                ])
            let pin = try PublicKeyPin(Self.pin)
            #expect(
                transport.options["tls"]
                    == "roots in \(files[0]), and the system's, \(pin), revoked \(pin), "
                    + "certificate in \(files[1]), key in \(files[2]), TLS 1.3 at least")
            #expect(transport.options["proxy"] == "proxy.example:3128 with credentials")
            #expect(!"\(transport.options)".contains("hush"))
        }

        @Test(arguments: ["socketio", "websocket"])
        func `the default is the system's authorities and no proxy`(_ name: String) throws {
            let transport = try Self.make(name, [:])
            #expect(transport.options["tls"] == "system roots")
            #expect(transport.options["proxy"] == "none")
        }

        @Test(
            arguments: ["socketio", "websocket"],
            [
                ["pins": ["sha256/no"] as any Sendable], ["revokedPins": ["x"]],
                ["certificate": "own.pem"], ["key": "own.key"], ["proxy": "https://p:1"],
                ["proxyUser": "ann"], ["proxy": "p:1", "proxyPassword": "hush"],
            ])
        func `invalid options are refused at once`(_ name: String, _ values: [String: any Sendable]) throws {
            let error = #expect(throws: LinkspanError.self) { try Self.make(name, values) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.description.contains("hush") == false)
        }

        @Test(arguments: [("socketio", ["proxyPassword"]), ("websocket", ["headers", "proxyPassword"])])
        func `secrets are refused in files: the proxy's password, and headers`(_ name: String, _ secrets: [String])
            throws
        {
            let options = try #require(Self.factories[name]).options
            #expect(options.filter(\.isSecret).map(\.name) == secrets)
        }
    }
}
