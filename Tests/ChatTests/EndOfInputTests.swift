internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct EndOfInputTests {
        @Test(
            .timeLimit(.minutes(2)),
            arguments: [Wire.socketio, .websocket])
        func `at the end of input the chat waits until everything is confirmed`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let chat = try await bench.chat(["join", "--name", "ann"] + (await server.arguments(for: wire)))
                try chat.type(Delivery.lines(1...500, from: "ann"))
                try chat.endInput()
                #expect(try await chat.exit() == 0)
                #expect(await chat.complaints == [])
                #expect(Delivery(of: 500, from: "ann", in: try server.kept(from: "ann")) == .perfect)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `the last line counts without a line break`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let chat = try await bench.chat(["join", "--name", "ann"] + (await server.arguments(for: .socketio)))
                try chat.type(raw: "one\n\ntwo")
                try chat.endInput()
                #expect(try await chat.exit() == 0)
                #expect(try server.kept(from: "ann") == ["one", "two"])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a server that comes within the patience gets everything`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                await server.kill()
                let chat = try await bench.chat(
                    ["join", "--name", "ann", "--drain", "30"] + (await server.arguments(for: .socketio)))
                try chat.type(Delivery.lines(1...20, from: "ann"))
                try chat.endInput()
                try await chat.output.wait(for: "failed attempt") { $0.contains("trying again") }
                try await server.start()
                #expect(try await chat.exit() == 0)
                #expect(Delivery(of: 20, from: "ann", in: try server.kept(from: "ann")) == .perfect)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `lines that a hanging server has not confirmed in time are counted, with status 1`(wire: Wire) async throws
        {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let arguments = ["join", "--name", "ann", "--drain", "1"] + (await server.arguments(for: wire))
                let chat = try await bench.chat(arguments)
                try await chat.output.wait(forLine: "* connected over \(wire)")
                await server.pause()
                try chat.type(["one", "two", "three"])
                try chat.endInput()
                #expect(try await chat.exit() == 1)
                let complaint = "chat: 3 lines not delivered: connected, but the server has not confirmed"
                #expect(await chat.complaints == [complaint])
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `without input, an unreachable server is reported, with status 1`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let arguments = ["join", "--name", "ann"] + (await server.arguments(for: wire))
                let visitor = try await bench.chat(arguments)
                try visitor.endInput()
                #expect(try await visitor.exit() == 0)
                await server.kill()
                let chat = try await bench.chat(arguments)
                try chat.endInput()
                #expect(try await chat.exit() == 1)
                let error = "chat: cannot connect: no answer from "
                let errors = await chat.complaints
                #expect(errors.count == 1 && errors.first?.hasPrefix(error) == true, "\(errors)")
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `without input, a server that refuses is reported, with status 1`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, ["--refuse"])
                let ended = try await bench.runChat(["join", "--name", "ann"] + (await server.arguments(for: wire)))
                #expect(ended.status == 1)
                #expect(ended.errors.contains { $0.contains("the chat is closed") }, "\(ended)")
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `lines for a server without TLS say so when the URL asks for it`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, [], .forgetful)
                let url = await server.url(for: wire).replacing("http:", with: "https:").replacing("ws:", with: "wss:")
                let chat = try await bench.chat(["join", "--name", "ann", "--drain", "3", "--url", url])
                try chat.type(["one"])
                try chat.endInput()
                #expect(try await chat.exit() == 1)
                let complaint = await chat.complaints.first ?? ""
                // The first attempt may fail before the lines have ended, or afterwards.
                let start = complaint.replacing("cannot connect: ", with: "", maxReplacements: 1)
                #expect(start.hasPrefix("chat: no secure connection to "), "\(complaint)")
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `lines for a server that is not there are counted, with status 1`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                await server.kill()
                let arguments = ["join", "--name", "ann", "--drain", "1"] + (await server.arguments(for: wire))
                let chat = try await bench.chat(arguments)
                try chat.type(["one", "two"])
                try chat.endInput()
                #expect(try await chat.exit() == 1)
                let complaints = await chat.complaints
                #expect(complaints.count == 1)
                #expect(complaints.first?.hasPrefix("chat: 2 lines not delivered: no answer from ") == true)
                #expect(complaints.first?.contains("(connection refused)") == true)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [Wire.socketio, .websocket])
        func `lines that the server has refused are told and counted, with status 1`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let chat = try await bench.chat(["join", "--name", "ann"] + (await server.arguments(for: wire)))
                try chat.type(["hi", String(repeating: "x", count: 9_000), "bye"])
                try chat.endInput()
                #expect(try await chat.exit() == 1)
                #expect(await chat.complaints == ["chat: 1 line not delivered"])
                #expect(await chat.output.lines.count { $0.hasPrefix("* not delivered: xxx") } == 1)
                #expect(try server.kept(from: "ann") == ["hi", "bye"])
            }
        }
    }
}
