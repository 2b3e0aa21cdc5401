internal import Testing

extension Chat {
    @Suite
    struct SecurityTests {
        @Test(
            .timeLimit(.minutes(2)),
            arguments: [Wire.socketio, .websocket])
        func `a server of an unknown authority is refused, and taken when the authority is named`(wire: Wire)
            async throws
        {
            try await Bench.run { bench in
                let authority = try await Authority(on: bench)
                let files = ["--ssl-cert", authority.certificate, "--ssl-key", authority.key]
                let server = try await ChatServer.start(on: bench, files)
                let arguments = ["join", "--name", "ann"] + (await server.arguments(for: wire))

                let stranger = try await bench.chat(arguments)
                #expect(try await stranger.exit() == 1)
                let errors = await stranger.errors.lines
                #expect(errors.count == 1, "\(errors)")
                #expect(
                    errors.first?.contains("TLS") == true || errors.first?.contains("certificate") == true, "\(errors)")

                let variable = "LINKSPAN_TRANSPORT_\(wire.rawValue.uppercased())_CA"
                let chat = try await bench.chat(arguments, environment: [variable: authority.root])
                try await chat.output.wait(forLine: "* connected over \(wire)")
                try chat.type(["safe and sound"])
                try chat.endInput()
                #expect(try await chat.exit() == 0)
                #expect(try server.kept(from: "ann") == ["safe and sound"])
            }
        }
    }
}
