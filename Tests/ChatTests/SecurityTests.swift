internal import TestedPrograms
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

        @Test(.timeLimit(.minutes(2)))
        func `server.py refuses web pages that it was not told of, on both wires`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, ["--allow-origin", "https://app.example"])
                let urls = [await server.url(for: .socketio), await server.url(for: .websocket)]
                let asked = try await bench.start("the pages", [try Place.python(), "-c", Self.pages] + urls)
                #expect(try await asked.exit() == 0)
                let lines = await asked.output.lines
                #expect(
                    lines == [
                        "https://evil.example 400 403", "null 400 403", "https://app.example 200 101", "None 200 101",
                    ])
            }
        }

        /// Prints how the server answers to pages of several origins, and to an app: over polling, and as a WebSocket.
        private static let pages = """
            import sys, urllib.error, urllib.request
            from websockets.exceptions import InvalidStatus
            from websockets.sync.client import connect
            def poll(url, origin):
                fields = {"Origin": origin} if origin else {}
                request = urllib.request.Request(url + "/socket.io/?EIO=4&transport=polling", headers=fields)
                try:
                    return urllib.request.urlopen(request, timeout=30).status
                except urllib.error.HTTPError as error:
                    return error.code
            def upgrade(url, origin):
                try:
                    with connect(url, origin=origin, proxy=None):
                        return 101
                except InvalidStatus as error:
                    return error.response.status_code
            for origin in ["https://evil.example", "null", "https://app.example", None]:
                print(origin, poll(sys.argv[1], origin), upgrade(sys.argv[2], origin), flush=True)
            """
    }
}
