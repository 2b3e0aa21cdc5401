internal import TestedPrograms
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
            arguments: [
                (Moment.atTheFirstLine, (Wire.socketio, Wire.websocket), ChatServer.Program.python),
                (.inTheMiddle, (.socketio, .socketio), .python),
                (.againWhilePeopleComeBack, (.websocket, .websocket), .python),
                (.inTheMiddle, (.socketio, .websocket), .chat),
                (.againWhilePeopleComeBack, (.websocket, .socketio), .chat),
            ])
        func `lines typed before, during and after a server's outage arrive once and in order`(
            at moment: Moment, wires: (Wire, Wire), program: ChatServer.Program
        ) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, [], program)
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

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `after a server without the history begins anew, a mark is shown and then every line typed since`(
            wire: Wire
        ) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, [], .forgetful)
                let ann = try await bench.join("ann", .socketio, server)
                let bob = try await bench.join("bob", wire, server)
                try await ann.output.wait(forLine: "* bob joined")
                for (chat, reader, name) in [(ann, bob, "ann"), (bob, ann, "bob")] {
                    try chat.type(["\(name) 1"])
                    try await reader.hear(1, from: name)
                }
                for round in 1...3 {
                    await server.kill()
                    for chat in [ann, bob] { try await chat.output.wait(forLine: "* connection lost", times: round) }
                    let lines = (3 * round - 1)...(3 * round + 1)
                    for (chat, name) in [(ann, "ann"), (bob, "bob")] {
                        try chat.type(Delivery.lines(lines, from: name))
                    }
                    try await server.start()
                    for (reader, name) in [(ann, "bob"), (bob, "ann")] {
                        try await reader.hear(lines.upperBound, from: name)
                        try await reader.output.wait(forLine: "* lines may have been missed", times: round)
                    }
                }
                for (reader, name) in [(ann, "bob"), (bob, "ann")] {
                    #expect(Delivery(of: 10, from: name, in: await reader.heard(from: name)) == .perfect)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `lines that waited in an outbox are shown by a new server without the history`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, [], .forgetful)
                let bob = try await bench.join("bob", .websocket, server)
                let outbox = ["join", "--name", "ann", "--outbox", "\(bench.folder)/outbox.sqlite"]
                let arguments = outbox + (await server.arguments(for: .socketio))
                // A visit that ends by itself leaves no outcome in the outbox.
                let first = try await bench.chat(arguments)
                try first.type(Delivery.lines(1...2, from: "ann"))
                try first.endInput()
                #expect(try await first.exit() == 0)
                try await bob.hear(2, from: "ann")
                let ann = try await bench.chat(arguments)
                try await ann.output.wait(forLine: "* connected over socketio")
                await server.kill()
                try await ann.output.wait(forLine: "* connection lost")
                try ann.type(Delivery.lines(3...5, from: "ann"))
                try await ann.output.wait(forLine: "* kept: ann 5")
                await ann.kill()
                try await server.start()
                let next = try await bench.chat(arguments)
                try next.endInput()
                #expect(try await next.exit() == 0)
                try await bob.hear(5, from: "ann")
                #expect(Delivery(of: 5, from: "ann", in: await bob.heard(from: "ann")) == .perfect)
                let named = await next.output.lines.filter { $0.hasPrefix("* delivered from an earlier visit: ") }
                #expect(named.map { $0.suffix(5) } == ["ann 3", "ann 4", "ann 5"])
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
