internal import TestedPrograms
internal import Testing

extension Chat {
    /// Several servers of one chat, as `cluster.sh` starts them.
    @Suite
    struct ClusterTests {
        /// Somebody who types and reads.
        private struct Person: Sendable {
            let name: String
            let chat: Child
            let typist: Typist

            init(_ name: String, _ chat: Child) {
                self.name = name
                self.chat = chat
                // Within the time limit five people type fewer lines than the servers keep.
                self.typist = Typist(name, at: chat, every: .milliseconds(100))
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `while servers are killed, every acknowledged line is shown to all once, in the same order`() async throws
        {
            try await Bench.run { bench in
                let cluster = try await ChatCluster.start(on: bench)
                let people = try await Self.gather(bench, cluster)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (person, reader) in zip(people, people.dropFirst() + people.prefix(1)) {
                        group.addTask { try await person.typist.run(ahead: reader.chat) }
                    }
                    try await Self.expectTalk(among: people)
                    // The second time one server is left, where everybody is then; so the last kill hits them all.
                    for dead in [[0], [1, 2], [0]] {
                        for number in dead { try await cluster.kill(number) }
                        try await Self.expectTalk(among: people)
                        for number in dead { try await cluster.restart(number) }
                    }
                    for person in people { await person.typist.finish() }
                    try await group.waitForAll()
                }
                for person in people {
                    for other in people where other.name != person.name {
                        try await person.chat.hear(await other.typist.count, from: other.name)
                    }
                }
                for person in people { try await Self.expectEnd(of: person) }
                try await Self.expectPerfection(among: people, cluster)
                #expect(try await cluster.end() == 0)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `members on a server that dies leave, and join again with a new connection`() async throws {
            try await Bench.run { bench in
                let cluster = try await ChatCluster.start(on: bench)
                let bob = try await bench.join("bob", .socketio, cluster, server: 1)
                _ = try await bench.join("ann", .websocket, cluster, server: 0)
                _ = try await bench.join("cem", .websocket, cluster, server: 2)
                try await bob.output.wait(forLine: "* ann joined")
                try await bob.output.wait(forLine: "* cem joined")

                try await cluster.kill(0)
                try await bob.output.wait(forLine: "* ann left")
                try await cluster.restart(0)
                try await bob.output.wait(forLine: "* ann joined", times: 2)
                #expect(await bob.output.lines.filter { $0.hasPrefix("* cem") } == ["* cem joined"])
                #expect(try await cluster.end() == 0)
            }
        }

        /// Lets five people in through the front, and returns when all of them are there.
        private static func gather(_ bench: Bench, _ cluster: ChatCluster) async throws -> [Person] {
            let wires: [(String, Wire)] = [
                ("ann", .socketio), ("bob", .websocket), ("cem", .socketio), ("dee", .websocket), ("eve", .socketio),
            ]
            var people: [Person] = []
            for (name, wire) in wires {
                people.append(Person(name, try await bench.join(name, wire, cluster)))
                // Over Socket.IO somebody who is connected is in the room; a raw WebSocket does not tell.
                if name != "ann" { try await people[0].chat.output.wait(forLine: "* \(name) joined") }
            }
            return people
        }

        /// Waits until everybody has heard something that was typed from now on by everybody else.
        private static func expectTalk(among people: [Person]) async throws {
            var counts: [String: Int] = [:]
            for person in people { counts[person.name] = await person.typist.count + 5 }
            for person in people {
                for (name, count) in counts where name != person.name { try await person.chat.hear(count, from: name) }
            }
        }

        /// Ends somebody's input, after which status 0 says that everything is acknowledged.
        private static func expectEnd(of person: Person) async throws {
            try person.chat.endInput()
            #expect(try await person.chat.exit() == 0)
            let errors = await person.chat.complaints
            #expect(errors == [])
            let news = await person.chat.output.lines.filter { $0.hasPrefix("* ") }
            #expect(news.contains { $0.hasPrefix("* connection lost") }, "\(news)")
            #expect(!news.contains { $0.contains("not delivered") || $0.contains("missed") }, "\(news)")
        }

        /// Compares all screens with what the servers have kept, in the order of its numbers.
        private static func expectPerfection(among people: [Person], _ cluster: ChatCluster) async throws {
            let kept = try await cluster.kept()
            let isGapless = kept.map(\.number) == Array(1..<kept.count + 1)
            #expect(isGapless)
            for person in people {
                let own = kept.filter { $0.from == person.name }.map(\.text)
                #expect(Delivery(of: await person.typist.count, from: person.name, in: own) == .perfect)
                for other in people where other.name != person.name {
                    let heard = await person.chat.heard(from: other.name)
                    #expect(Delivery(of: await other.typist.count, from: other.name, in: heard) == .perfect)
                }
                let screen = await person.chat.output.lines.filter { !$0.hasPrefix("* ") }
                let isInOrder = screen == kept.filter { $0.from != person.name }.map { "\($0.from): \($0.text)" }
                #expect(isInOrder, "\(person.name) sees another order than that of the numbers")
            }
        }
    }
}
