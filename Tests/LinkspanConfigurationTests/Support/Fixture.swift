internal import Foundation
internal import LinkspanTesting
internal import LinkspanRuntime
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// A transport that only remembers its options.
struct OptionTransport: Transport {
    let name: String
    let values: OptionValues
    let executor: any JobExecutor = TestExecutor()

    var schemes: Set<String> { ["http", "https", "ws", "wss", "memory"] }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link { SilentLink() }
}

/// A link over which nothing happens.
final class SilentLink: Link {
    func open() {}
    func send(_ message: OutboundMessage) -> SendAcceptance { .refused }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .accepted }
    func close(code: UInt16?, reason: String) {}
    func abort() {}
}

/// A service that only remembers its options.
struct OptionService: LifecycleService {
    let name: ServiceName
    let values: OptionValues
}

/// A service that stands somewhere of its own accord.
struct PlacedService: LifecycleService {
    let name: ServiceName
    let placement: Placement
    let budgets = Budgets(handle: .seconds(2), stop: .seconds(9))
    let importance = Importance.optional

    init(name: ServiceName, placement: Placement, _ values: OptionValues) {
        self.name = name
        self.placement = placement
    }
}

extension Placement {
    static func needing(_ name: ServiceName) -> Placement { Placement(needs: [.hard(name)], priority: 7) }
}

extension Catalog {
    /// Three transports and three services with options of every kind.
    static func sample() -> Catalog {
        var catalog = Catalog()
        catalog.add(
            TransportFactory(
                "socketio", schemes: ["http", "https"],
                options: [PluginOption("path", .text, fallback: "/socket.io/", "The path of the handshake.")]
            ) { OptionTransport(name: "socketio", values: $0) })
        catalog.add(
            TransportFactory(
                "websocket", schemes: ["ws", "wss"],
                options: [
                    PluginOption("pingInterval", .seconds(1...600), fallback: "20", "The time between pings."),
                    PluginOption("compression", .flag, fallback: "false", "Whether frames are compressed."),
                    PluginOption("token", .text, fallback: "none", isSecret: true, "What the server wants to see."),
                ]
            ) { OptionTransport(name: "websocket", values: $0) })
        catalog.add(
            TransportFactory("memory", schemes: ["memory"]) { OptionTransport(name: "memory", values: $0) })
        catalog.add(
            ServiceFactory(
                "logging",
                options: [
                    PluginOption("level", .choice(["trace", "debug", "info"]), fallback: "info", "The lowest level."),
                    PluginOption("families", .list, fallback: "all", "What is written."),
                ]
            ) { OptionService(name: "logging", values: $0) })
        catalog.add(
            ServiceFactory(
                "presence",
                options: [PluginOption("awayAfter", .seconds(1...86_400), fallback: "300", "When a user is away.")]
            ) { OptionService(name: "presence", values: $0) })
        catalog.add(
            ServiceFactory("outbox", options: [PluginOption("path", .text, "Where messages are kept.")]) {
                values throws(LinkspanError) in
                guard (values["path"] as String?)?.hasPrefix("/") == true else {
                    throw LinkspanError(.invalidConfiguration, "the path must begin with a slash")
                }
                return OptionService(name: "outbox", values: values)
            })
        return catalog
    }
}

/// A directory for one test, gone afterwards.
func withDirectory<Result>(_ body: (Files) throws -> Result) throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("linkspan-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try body(Files(directory: directory))
}

/// The files of a test.
struct Files {
    let directory: URL

    func write(_ name: String, _ text: String) throws -> String { try self.write(name, Data(text.utf8)) }

    func write(_ name: String, _ data: Data) throws -> String {
        let url = self.directory.appendingPathComponent(name)
        try data.write(to: url)
        return url.path
    }
}

/// Loads with a file of this content; messages name it `chat.yaml` or `chat.json`.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
func load(
    _ text: String? = nil, as name: String = "chat.yaml", environment: [String: String] = [:],
    arguments: [String] = [], overrides: [Override] = [], catalog: Catalog = .sample()
) throws -> LoadedPlan {
    try withDirectory { files in
        let path = try text.map { try files.write(name, $0) }
        return try ConfigurationLoader(catalog: catalog).load(
            file: path, environment: environment, arguments: arguments, overrides: overrides)
    }
}

/// The text of the error that loading throws, with the file's directory left out; nil if it throws none.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
func failure(
    _ text: String? = nil, as name: String = "chat.yaml", environment: [String: String] = [:],
    arguments: [String] = [], overrides: [Override] = [], catalog: Catalog = .sample()
) throws -> String? {
    try withDirectory { files -> String? in
        let path = try text.map { try files.write(name, $0) }
        do {
            _ = try ConfigurationLoader(catalog: catalog).load(
                file: path, environment: environment, arguments: arguments, overrides: overrides)
            return nil
        } catch let error as ConfigurationError {
            return error.description.replacingOccurrences(of: "\(files.directory.path)/", with: "")
        }
    }
}
