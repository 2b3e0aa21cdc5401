internal import Foundation
internal import LinkspanKit
internal import LinkspanTesting

// The examples of services, tests and command lines, word for word. They are compiled, not run.

private struct Score: Decodable, Sendable {
    var player: String
    var points: Int
}

actor Scores: ConnectionUsing {
    let name: ServiceName = "scores"
    private var latest: [String: Int] = [:]
    private var reading: Task<Void, Never>?

    func use(_ connection: any Connection) throws {
        let scores = try connection.values("score", as: Score.self)
        self.reading = Task {
            for await score in scores {
                guard let score = try? score.get() else { continue }
                self.latest[score.player] = score.points
            }
        }
    }
}

struct LimiterOptions: Decodable, Sendable {
    var rate = 2.5
    var rooms = ["lobby"]
    var weights: [String: Double] = [:]
}

actor Limiter: LifecycleService {
    let name: ServiceName = "limiter"
    private var options: LimiterOptions

    init(_ options: LimiterOptions) { self.options = options }

    func use(_ options: LimiterOptions) { self.options = options }
}

// What an app has of swift-configuration.
struct ConfigKey {
    init(_ text: String) {}
}

struct ConfigReader: Sendable {
    func string(forKey key: ConfigKey) -> String? { nil }
    func stringArray(forKey key: ConfigKey) -> [String]? { nil }
}

struct AppConfiguration: ConfigurationReading {
    let reader: ConfigReader
    let name = "app.json"

    func text(_ key: String) -> String? { self.reader.string(forKey: ConfigKey(key)) }
    func list(_ key: String) -> [String]? {
        self.reader.stringArray(forKey: ConfigKey(key))
    }
}

private enum FeatureExamples {
    static func limiter() {
        var catalog = Catalog()
        catalog.add(
            ServiceFactory("limiter", defaults: LimiterOptions(), hot: ["rate"]) {
                Limiter($0)
            } reconfigure: { limiter, options in
                await limiter.use(options)
            })
    }

    static func reader(_ loader: ConfigurationLoader, _ reader: ConfigReader) throws {
        let sources = ConfigurationSources(reader: AppConfiguration(reader: reader))
        let loaded = try loader.load(sources)
        print(loaded.adapter)
    }

    static func conversation(_ file: URL, _ transport: ScriptedTransport) throws {
        let conversation = try Conversation(text: String(contentsOf: file, encoding: .utf8))
        transport.play(conversation)
    }

    static func recorder() throws {
        let recorder = ConversationRecorder()
        let connection = try ConnectionBuilder("https://staging.chat.example")
            .transport(.socketIO)
            .options { $0.interceptors = [recorder] }
            .connect()
        connection.release()
    }

    static func run(_ clock: VirtualScheduler, _ connection: ConnectionHandler, _ transport: ScriptedTransport)
        async throws
    {
        async let reply = connection.request("slow", timeout: .seconds(5))
        await clock.run { !transport.received.isEmpty }
        clock.advance(by: .seconds(5))
        _ = try await reply
    }
}

enum ConfigurationExample {
    static func run(_ loader: ConfigurationLoader, _ sources: ConfigurationSources) {
        let report = ConfigurationReport.explain("connection", in: sources, by: loader)
        for line in report.lines + report.problems { print(line) }
    }
}
