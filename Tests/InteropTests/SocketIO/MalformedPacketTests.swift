internal import TestSupport
internal import Foundation
internal import Linkspan
internal import Testing

extension Interop {
    /// What a client makes of packets that servers should not send.
    @Suite(.overEachWire) struct MalformedPacketTests {
        private static let placeholder = #"{"_placeholder":true,"num":0}"#

        /// Texts that break the protocol, each by itself.
        private static let broken = [
            "9", "x", #"2["cut"#, #"2["junk"]x"#, "2{}", "2[]", "2[null]", #"2["connect"]"#, #"2["disconnect"]"#,
            "3{}", "1{}", #"4true"#, #"51["no dash",\#(placeholder)]"#, #"511-["too many"]"#,
            #"51-["out of range",{"_placeholder":true,"num":1}]"#, "299999999999999999999[\"id\"]",
        ]

        /// Texts that are odd and do no harm.
        private static let harmless = [
            #"2/never-joined,["event"]"#, "3999[]", #"0{"sid":"again"}"#, "1/never-joined,", "2",
        ]

        @Test(arguments: broken)
        func `a packet that breaks the protocol ends the link, and another link follows`(_ text: String) async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                try await bench.socketIO(server).expectViolation(by: text)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `attachments out of turn end the link, and another link follows`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                // A text where an attachment is due.
                try client.handler.send("raw", #"51-["half",\#(Self.placeholder)]"#, #"2["next"]"#)
                #expect(try await client.lost().error?.code == .protocolViolation)
                try await client.connected(times: 2)
                // An attachment that nothing has announced.
                try client.handler.send("raw", Data([1, 2, 3]))
                #expect(try await client.lost(times: 2).error?.code == .protocolViolation)
                try await client.connected(times: 3)
                // The same, in order, is an event. It shows that nothing of the half packet was left.
                try client.handler.send("raw", #"51-["whole",\#(Self.placeholder)]"#, Data([1, 2, 3]))
                #expect(try await client.values("whole", as: Data.self) == [Data([1, 2, 3])])
                #expect(client.messages.entries.map(\.event) == ["whole"])
            }
        }

        @Test(arguments: harmless)
        func `an odd packet that does no harm is passed over`(_ text: String) async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("raw", text)
                try await client.settle()
                #expect(client.states.entries.map(\.to) == [.connected])
                #expect(client.messages.entries.isEmpty)
            }
        }

        @Test
        func `an empty packet ends the link, and another link follows`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("raw", "")
                #expect(try await client.lost().error?.code == .protocolViolation)
                try await client.connected(times: 2)
                try await client.settle()
            }
        }
    }
}
