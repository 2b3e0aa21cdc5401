import Foundation
import Linkspan
import LinkspanConfiguration
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanServices
import Observation

/// Begins and ends visits: one at a time, each with a model for the views.
@MainActor
@Observable
final class ChatHost {
    /// What the app shows.
    enum Phase {
        case idle
        case starting
        case running(ChatModel)
    }

    /// Who comes, where to, and over what.
    struct Entry: Hashable, Sendable {
        var name = ""
        var room = "lobby"
        var url = "https://chat.example.com"
        var transport = "socketio"
        var keepsLines = true
    }

    var entry = Entry()
    private(set) var phase = Phase.idle
    /// Why the last visit did not begin, or how it ended.
    private(set) var problem: String?

    /// What views forward to; each visit has its own, because a forwarder runs once.
    private(set) var forwarder = AppForwarder()
    /// Ends the visit that runs.
    @ObservationIgnored private var end: AsyncStream<Void>.Continuation?

    /// Whether the entry can be used.
    var isComplete: Bool { (1...64).contains(self.entry.name.unicodeScalars.count) && !self.entry.room.isEmpty }

    /// Visits the chat until ``leave()``; for the task of a view.
    func visit() async {
        guard case .idle = self.phase else { return }
        (self.phase, self.problem) = (.starting, nil)
        defer { (self.phase, self.forwarder) = (.idle, AppForwarder()) }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        self.end = end
        do {
            let (visitor, news) = (Visitor(name: self.entry.name, room: self.entry.room), ChatNews())
            let configuration = ChatConfiguration(transport: self.entry.transport, url: self.address)
                .with(outbox: self.entry.keepsLines ? Self.outboxPath : nil)
            let visit = try await Visit.begin(visitor, news, try self.plan(configuration, visitor, news))
            let floor = VisitFloor(visit, configuration)
            let model = ChatModel(name: self.entry.name, room: self.entry.room, floor: floor)
            self.phase = .running(model)
            await withDiscardingTaskGroup { group in
                group.addTask { await floor.run() }
                group.addTask { await model.run() }
                for await _ in ends { break }
                _ = await model.finish(within: .seconds(5))
                group.cancelAll()
            }
            _ = await visit.messaging.stop()
        } catch let error as ConfigurationError {
            self.problem = error.problems.map(\.description).joined(separator: "\n")
        } catch {
            self.problem = (error as? LinkspanError)?.message ?? "\(error)"
        }
    }

    /// Leaves the chat, after the lines under way.
    func leave() { self.end?.finish() }

    /// The endpoint, which the chat inside the process does not need.
    private var address: String? { self.entry.transport == "memory" ? nil : self.entry.url }

    /// The chat's plan with the services of a device.
    private func plan(
        _ configuration: ChatConfiguration, _ visitor: Visitor, _ news: ChatNews
    ) throws -> LoadedPlan {
        var loaded = try configuration.load(for: visitor, news)
        loaded.plan.services += [
            PlannedService(NetworkPathSource().service(named: "network")), PlannedService(BackgroundTimeService()),
            PlannedService(self.forwarder),
        ]
        return loaded
    }

    /// The file of lines that wait; in a folder that is not shown to the user.
    private static var outboxPath: String {
        let folder = URL.applicationSupportDirectory
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appendingPathComponent("chat.outbox").path
    }
}
