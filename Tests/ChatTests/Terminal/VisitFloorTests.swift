@testable internal import chat
internal import Linkspan
internal import LinkspanMessaging
internal import Testing

@Suite
struct VisitFloorTests {
    @Test(.timeLimit(.minutes(2)))
    func `a line that is shown as confirmed is not counted as waiting`() async throws {
        let visitor = Visitor(name: "ann", room: "lobby")
        let (news, configuration) = (ChatNews(), ChatConfiguration(transport: "memory"))
        let visit = try await Visit.begin(visitor, news, configuration.load(for: visitor, news))
        let floor = VisitFloor(visit, configuration)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            for id in ["1", "2"] { news.post(.said(id: id, room: "lobby", text: "line \(id)")) }
            for id in ["1", "2"] { news.post(.confirmed(id: id)) }
            var (waiting, open) = (0, Set<String>())
            for await event in floor.events {
                switch event {
                case .waiting(let count): waiting = count
                case .line(let line) where line.isOwn:
                    if line.state == .pending { open.insert(line.id) } else { open.remove(line.id) }
                    #expect(waiting == open.count)
                default: ()
                }
                if case .line(let line) = event, line.id == "2", line.state == .confirmed { break }
            }
        }
        await visit.messaging.stop()
    }

    @Test(.timeLimit(.minutes(2)))
    func `the round trip of a reply that came before the screen is shown`() async throws {
        let visitor = Visitor(name: "ann", room: "lobby")
        let (news, configuration) = (ChatNews(), ChatConfiguration(transport: "memory"))
        let visit = try await Visit.begin(visitor, news, configuration.load(for: visitor, news))
        _ = try await visit.rooms.say("hello")
        #expect(await visit.drain(within: .seconds(60)) == 0)
        let floor = VisitFloor(visit, configuration)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            for await case .roundTrip in floor.events { break }
        }
        await visit.messaging.stop()
    }

    @Test
    func `a name stays as it was when the entry with another one cannot be made`() {
        let visitor = Visitor(name: "ann", room: "lobby")
        #expect(throws: LinkspanError.self) {
            try visitor.rename(to: "eve") { () throws(LinkspanError) in
                throw LinkspanError(.conflictingOptions, "somebody else is there")
            }
        }
        #expect(visitor.name == "ann")
        #expect(!visitor.isOwn("eve"))
    }
}
