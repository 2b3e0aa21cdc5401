internal import Testing

extension Chat {
    @Suite
    struct OutageTests {
        /// When the server is killed.
        enum Moment: Sendable, CaseIterable {
            case atTheFirstLine
            case inTheMiddle
            case againWhilePeopleComeBack
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: zip(
                Moment.allCases, [(Wire.socketio, Wire.websocket), (.socketio, .socketio), (.websocket, .websocket)]))
        func `lines typed before, during and after a server's outage arrive once and in order`(
            at moment: Moment, wires: (Wire, Wire)
        ) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                try await Self.converse(over: wires, server, bench) { ann, bob in
                    try await ann.hear(moment == .atTheFirstLine ? 1 : 200, from: "bob")
                    await server.kill()
                    if moment == .againWhilePeopleComeBack {
                        try await server.start()
                        try await ann.output.wait(forLine: "* connected over", times: 2)
                        await server.kill()
                    }
                    // The outage itself: long enough for several attempts in vain.
                    try await Task.sleep(for: .seconds(5))
                    try await server.start()
                    for chat in [ann, bob] { try await chat.output.wait(forLine: "* connected over", times: 2) }
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `lines typed while a server hangs arrive once and in order`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, ["--ping-interval", "1", "--ping-timeout", "1"])
                try await Self.converse(over: (.socketio, .socketio), server, bench) { ann, bob in
                    try await ann.hear(200, from: "bob")
                    await server.pause()
                    for chat in [ann, bob] { try await chat.output.wait(forLine: "* connection lost") }
                    await server.resume()
                    for chat in [ann, bob] { try await chat.output.wait(forLine: "* connected over", times: 2) }
                }
            }
        }

        /// Lets two people type all the time while something happens, and expects that nothing is lost by it.
        private static func converse(
            over wires: (Wire, Wire), _ server: ChatServer, _ bench: Bench,
            while event: @escaping @Sendable (Child, Child) async throws -> Void
        ) async throws {
            let ann = try await bench.join("ann", wires.0, server)
            let bob = try await bench.join("bob", wires.1, server)
            // Who enters second is announced to the other: then both are there.
            try await withThrowingTaskGroup { group in
                group.addTask { _ = try await ann.output.wait(forLine: "* bob joined") }
                group.addTask { _ = try await bob.output.wait(forLine: "* ann joined") }
                try await group.next()
                group.cancelAll()
            }

            let typists = [Typist("ann", at: ann), Typist("bob", at: bob)]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for typist in typists { group.addTask { try await typist.run() } }
                try await event(ann, bob)
                // Typed after the outage.
                let (fromAnn, fromBob) = (await typists[0].count + 50, await typists[1].count + 50)
                try await bob.hear(fromAnn, from: "ann")
                try await ann.hear(fromBob, from: "bob")
                for typist in typists { await typist.finish() }
                try await group.waitForAll()
            }

            let people = [("ann", typists[0], ann, bob), ("bob", typists[1], bob, ann)]
            for (name, typist, _, reader) in people { try await reader.hear(await typist.count, from: name) }
            for (name, typist, chat, reader) in people {
                let count = await typist.count
                try chat.endInput()
                #expect(try await chat.exit() == 0)
                #expect(Delivery(of: count, from: name, in: await reader.heard(from: name)) == .perfect)
                #expect(Delivery(of: count, from: name, in: try server.kept(from: name)) == .perfect)
                let news = await chat.output.lines.filter { $0.hasPrefix("* ") }
                #expect(news.contains { $0.hasPrefix("* connection lost") }, "\(news)")
                #expect(!news.contains { $0.contains("not delivered") || $0.contains("missed") }, "\(news)")
                #expect(await chat.complaints == [])
            }
        }
    }
}
