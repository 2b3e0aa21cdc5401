internal import Linkspan
internal import Testing

@testable import chat

/// The rules of PROTOCOL.md, without a network.
@Suite
struct ChatRoomsTests {
    /// Two connections, and what each of them has heard.
    private struct Scene {
        var rooms = ChatRooms(numbering: "n1")
        var heard: [UInt64: [String]] = [:]

        mutating func enter(_ auth: String, as id: UInt64) throws {
            let entry = try ChatEntry(try Payload(checking: Array(auth.utf8)[...]))
            self.note(self.rooms.enter(entry, as: id))
        }

        /// Asks for something; returns the answer's JSON.
        mutating func ask(_ event: String, _ json: String, _ id: UInt64, _ name: String) throws -> Payload {
            do throws(ChatRequest.Problem) {
                let payload = Payload(trustedElements: Array(json.utf8)[...])
                let (answer, news) = try self.rooms.perform(ChatRequest(event, payload), by: id, name)
                self.note(news)
                return .of(answer)
            } catch {
                return try Payload(["code": error.code])
            }
        }

        mutating func depart(_ id: UInt64, _ name: String) { self.note(self.rooms.depart(id, name)) }

        private mutating func note(_ news: [ChatRooms.News]) {
            for news in news {
                let json = String(decoding: news.payload.elements, as: UTF8.self)
                self.heard[news.member, default: []].append("\(news.event) \(json)")
            }
        }
    }

    @Test
    func `a topic is told to those who are there and to those who come, and an empty one removes it`() throws {
        var scene = Scene()
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 1)
        try scene.enter(#"{"name":"bob","rooms":["lobby"]}"#, as: 2)
        #expect(try scene.ask("topic", #"{"room":"lobby","topic":"cats"}"#, 1, "ann")[0]?["ok"]?.bool == true)
        #expect(scene.heard[2]?.last == #"topic {"room":"lobby","topic":"cats","name":"ann"}"#)
        #expect(scene.heard[1]?.contains { $0.hasPrefix("topic ") } == false)
        try scene.enter(#"{"name":"eve","rooms":["lobby"]}"#, as: 3)
        #expect(scene.heard[3]?.last == #"topic {"room":"lobby","topic":"cats"}"#)
        _ = try scene.ask("topic", #"{"room":"lobby","topic":""}"#, 2, "bob")
        try scene.enter(#"{"name":"dan","rooms":["lobby"]}"#, as: 4)
        #expect(scene.heard[4]?.contains { $0.hasPrefix("topic ") } == false)
        let long = String(repeating: "x", count: 257)
        for (json, code) in [
            (#"{"room":"attic","topic":"x"}"#, "not_in_room"), (#"{"room":"lobby"}"#, "bad_request"),
            (#"{"room":"lobby","topic":"a\u0007"}"#, "bad_text"), (#"{"room":"lobby","topic":"\#(long)"}"#, "bad_text"),
        ] {
            #expect(try scene.ask("topic", json, 1, "ann")[0]?["code"]?.string == code)
        }
    }

    @Test
    func `a message to one person reaches all their connections and nobody else`() throws {
        var scene = Scene()
        for (id, name, rooms) in [(1, "ann", "lobby"), (2, "bob", "lobby"), (3, "bob", "attic"), (4, "eve", "lobby")] {
            try scene.enter(#"{"name":"\#(name)","rooms":["\#(rooms)"]}"#, as: UInt64(id))
        }
        try scene.enter(#"{"name":"dan","rooms":["attic"]}"#, as: 5)
        _ = try scene.ask("join", #"{"room":"attic"}"#, 1, "ann")
        let message = #"{"to":"bob","text":"psst","id":"k"}"#
        #expect(try scene.ask("msg", message, 1, "ann")[0]?["ok"]?.bool == true)
        for id: UInt64 in [2, 3] {
            #expect(scene.heard[id]?.last == #"msg {"from":"ann","to":"bob","text":"psst","id":"k"}"#)
        }
        for id: UInt64 in [1, 4, 5] { #expect(scene.heard[id]?.contains { $0.hasPrefix("msg ") } != true) }
        for (json, code) in [
            (#"{"to":"zoe","text":"x","id":"k"}"#, "no_such_person"), (#"{"to":"","text":"x","id":"k"}"#, "bad_name"),
            (#"{"to":"bob","text":"","id":"k"}"#, "bad_text"), (#"{"to":"bob","text":"x"}"#, "bad_request"),
        ] {
            #expect(try scene.ask("msg", json, 1, "ann")[0]?["code"]?.string == code)
        }
        // Somebody in no room with the sender is as if not there.
        #expect(
            try scene.ask("msg", #"{"to":"dan","text":"x","id":"k"}"#, 4, "eve")[0]?["code"]?.string == "no_such_person"
        )
    }

    @Test
    func `a line has a number, reaches the others, and is confirmed again without being sent again`() throws {
        var scene = Scene()
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 1)
        try scene.enter(#"{"name":"bob","rooms":["lobby"]}"#, as: 2)
        for _ in 0..<2 {
            let answer = try scene.ask("say", #"{"room":"lobby","text":"hello","id":"k"}"#, 1, "ann")
            #expect(answer[0]?["seq"]?.int == 1)
        }
        let last = try #require(scene.heard[2]?.last)
        #expect(last.hasPrefix("message ") && last.contains(#""seq":1"#))
        #expect(scene.heard[2]?.count == 2)
        #expect(scene.heard[1]?.last?.hasPrefix("joined ") == true)
        scene.depart(1, "ann")
        let late = try scene.ask("say", #"{"room":"lobby","text":"hello","id":"k"}"#, 3, "ann")
        #expect(late[0]?["seq"]?.int == 1)
        #expect(scene.heard[2]?.last?.hasPrefix("left ") == true)
    }

    @Test
    func `a person with two connections comes once and goes once`() throws {
        var scene = Scene()
        try scene.enter(#"{"name":"bob","rooms":["lobby"]}"#, as: 9)
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 1)
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 2)
        scene.depart(1, "ann")
        let members = try scene.ask("who", #"{"room":"lobby"}"#, 9, "bob")[0]?["members"]
        #expect(members?.elements?.compactMap(\.string) == ["ann", "bob"])
        #expect(scene.heard[9]?.map { $0.prefix(6) } == ["room {", "joined"])
        _ = try scene.ask("leave", #"{"room":"lobby"}"#, 2, "ann")
        #expect(scene.heard[9]?.last?.hasPrefix("left ") == true)
    }

    @Test
    func `a returning member gets the missed lines, and the number of those that are lost`() throws {
        var scene = Scene()
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 1)
        for number in 1...10_003 {
            _ = try scene.ask("say", #"{"room":"lobby","text":"x","id":"\#(number)"}"#, 1, "ann")
        }
        try scene.enter(#"{"name":"bob","rooms":["lobby"],"seen":{"lobby":10001}}"#, as: 2)
        let heard = try #require(scene.heard[2])
        #expect(heard.map { $0.prefix(7) } == ["room {\"", "message", "message"])
        #expect(heard[0].contains(#""seq":10001"#) && heard[2].contains(#""seq":10003"#))
        try scene.enter(#"{"name":"eve","rooms":["lobby"],"seen":{"lobby":1}}"#, as: 3)
        #expect(scene.heard[3]?[0].contains(#""lines":2"#) == true)
        #expect(scene.heard[3]?[1].contains(#""seq":3"#) == true)
        #expect(scene.heard[3]?.count == 10_002)
        try scene.enter(#"{"name":"joe","rooms":["lobby"],"seen":{"lobby":99999}}"#, as: 4)
        #expect(scene.heard[4]?.count == 10_002)
        #expect(scene.heard[4]?[0].contains(#""lines":null"#) == true)
        #expect(scene.heard[4]?[1].contains(#""seq":3"#) == true)
        // A key that is no longer known is a new line.
        let again = try scene.ask("say", #"{"room":"lobby","text":"x","id":"1"}"#, 1, "ann")
        #expect(again[0]?["seq"]?.int == 10_004)
    }

    @Test(arguments: [0, 2, 3])
    func `a position of another numbering is none: a gap of unknown size comes first, then every kept line`(
        seen: Int
    ) throws {
        var scene = Scene()
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 1)
        #expect(scene.heard[1] == [#"room {"room":"lobby","seq":0,"numbering":"n1"}"#])
        for number in 1...3 {
            _ = try scene.ask("say", #"{"room":"lobby","text":"x","id":"\#(number)"}"#, 1, "ann")
        }
        let (old, new) = (#"{"lobby":"n0"}"#, #"{"lobby":"n1"}"#)
        let entry = #"{"name":"bob","rooms":["lobby"],"seen":{"lobby":\#(seen)},"numbering":"#
        try scene.enter(entry + old + "}", as: 2)
        #expect(scene.heard[2]?.map { $0.prefix(4) } == ["gap ", "room", "mess", "mess", "mess"])
        #expect(scene.heard[2]?.first == #"gap {"room":"lobby","lines":null}"#)
        #expect(scene.heard[2]?.dropFirst().first?.contains(#""seq":0"#) == true)
        try scene.enter(entry + new + "}", as: 3)
        #expect(scene.heard[3]?.count == 4 - seen)
        #expect(scene.heard[3]?.first?.contains(#""seq":\#(seen)"#) == true)
        // The same for somebody who joins later.
        try scene.enter(#"{"name":"eve"}"#, as: 4)
        let join = #"{"room":"lobby","seen":\#(seen),"numbering":"n0"}"#
        #expect(try scene.ask("join", join, 4, "eve")[0]?["seq"]?.int == 3)
        #expect(scene.heard[4] == scene.heard[2]?.filter { !$0.hasPrefix("joined ") })
    }

    @Test
    func `a room that was forgotten numbers its lines from where no client can have been`() throws {
        var scene = Scene()
        for number in 0...ChatRooms.maximumEmpty {
            try scene.enter(#"{"name":"ann","rooms":["room \#(number)"]}"#, as: 1)
            for key in 1...2 {
                _ = try scene.ask("say", #"{"room":"room \#(number)","text":"x","id":"\#(key)"}"#, 1, "ann")
            }
            scene.depart(1, "ann")
        }
        try scene.enter(#"{"name":"ann","rooms":["room 0"]}"#, as: 1)
        #expect(scene.heard[1]?.last?.contains(#""seq":2"#) == true)
        let answer = try scene.ask("say", #"{"room":"room 0","text":"new","id":"3"}"#, 1, "ann")
        #expect(answer[0]?["seq"]?.int == 3)
        try scene.enter(#"{"name":"bob","rooms":["room 0"],"seen":{"room 0":1}}"#, as: 2)
        #expect(scene.heard[2]?.map { $0.prefix(4) } == ["gap ", "room", "mess"])
        #expect(scene.heard[2]?.first?.contains(#""lines":null"#) == true)
    }

    @Test
    func `a line that cannot be kept is refused, and nobody hears of it`() throws {
        var scene = Scene()
        scene.rooms.keep = { _ throws(ChatRequest.Problem) in throw ChatRequest.Problem("not_kept", "full") }
        for (id, name) in [(1, "ann"), (2, "bob")] as [(UInt64, String)] {
            try scene.enter(#"{"name":"\#(name)","rooms":["lobby"]}"#, as: id)
        }
        let line = #"{"room":"lobby","text":"x","id":"1"}"#
        #expect(try scene.ask("say", line, 1, "ann")[0]?["code"]?.string == "not_kept")
        #expect(scene.heard[2]?.count == 1)
        scene.rooms.keep = { _ in }
        #expect(try scene.ask("say", line, 1, "ann")[0]?["seq"]?.int == 1)
    }

    @Test
    func `histories of empty rooms stay within their limit, the latest kept`() throws {
        var scene = Scene()
        let text = String(repeating: "x", count: 8_192)
        var last: [Int: Int] = [:]
        for number in 1...3_000 {
            try scene.enter(#"{"name":"ann","rooms":["room \#(number)"]}"#, as: 1)
            for key in 1...5 {
                let line = #"{"room":"room \#(number)","text":"\#(text)","id":"\#(key)"}"#
                last[number] = try scene.ask("say", line, 1, "ann")[0]?["seq"]?.int
            }
            scene.depart(1, "ann")
            #expect(scene.rooms.bytes <= ChatRooms.maximumBytes)
        }
        let (newest, older) = (try #require(last[3_000]), try #require(last[2_001]))
        try scene.enter(#"{"name":"bob","rooms":["room 3000"],"seen":{"room 3000":\#(newest - 2)}}"#, as: 2)
        #expect(scene.heard[2]?.map { $0.prefix(7) } == ["room {\"", "message", "message"])
        try scene.enter(#"{"name":"eve","rooms":["room 2001"],"seen":{"room 2001":\#(older - 2)}}"#, as: 3)
        #expect(scene.heard[3]?.last?.contains(#""seq":\#(older)"#) == true)
        try scene.enter(#"{"name":"joe","rooms":["room 1"],"seen":{"room 1":3}}"#, as: 4)
        #expect(scene.heard[4]?.first?.contains(#""lines":null"#) == true)
    }

    @Test
    func `the lines of one room that is in use are bounded too, and what is gone is a gap`() throws {
        var scene = Scene()
        let text = String(repeating: "é", count: 8_192)
        try scene.enter(#"{"name":"ann","rooms":["lobby","attic"]}"#, as: 1)
        _ = try scene.ask("say", #"{"room":"attic","text":"quiet","id":"k"}"#, 1, "ann")
        for key in 1...3_000 {
            _ = try scene.ask("say", #"{"room":"lobby","text":"\#(text)","id":"\#(key)"}"#, 1, "ann")
        }
        #expect(scene.rooms.bytes <= ChatRooms.maximumBytes)
        try scene.enter(#"{"name":"bob","rooms":["lobby","attic"],"seen":{"lobby":0,"attic":0}}"#, as: 2)
        let heard = try #require(scene.heard[2])
        #expect(heard.first?.hasPrefix("gap ") == true)
        #expect(heard.last?.contains("quiet") == true)
        // What it gets is bounded for all its rooms together, and is the newest; all others are counted.
        let lines = heard.filter { $0.contains("ééé") }
        let bytes = lines.reduce(0) { $0 + $1.utf8.count - "message ".utf8.count }
        #expect(bytes <= ChatRooms.maximumMissedBytes && bytes > ChatRooms.maximumMissedBytes - 20_000)
        #expect(lines.last?.contains(#""seq":3000"#) == true)
        #expect(heard.first?.contains(#""lines":\#(3_000 - lines.count)"#) == true)
        _ = try scene.ask("leave", #"{"room":"lobby"}"#, 2, "bob")
        // More of what is kept is there for who has seen more.
        let seen = 3_000 - lines.count + 10
        _ = try scene.ask("join", #"{"room":"lobby","seen":\#(seen)}"#, 2, "bob")
        #expect(scene.heard[2]?.last?.contains(#""seq":3000"#) == true)
        #expect(scene.heard[2]?.count { $0.contains("ééé") } == 2 * lines.count - 10)
    }

    @Test
    func `a connection may be in 64 rooms, by its credentials and by joining`() throws {
        var scene = Scene()
        let labels = (1...64).map { #""room \#($0)""# }
        try scene.enter(#"{"name":"ann","rooms":[\#(labels.joined(separator: ","))]}"#, as: 1)
        #expect(try scene.ask("join", #"{"room":"another"}"#, 1, "ann")[0]?["code"]?.string == "bad_request")
        #expect(try scene.ask("join", #"{"room":"room 7"}"#, 1, "ann")[0]?["ok"]?.bool == true)
        _ = try scene.ask("leave", #"{"room":"room 7"}"#, 1, "ann")
        #expect(try scene.ask("join", #"{"room":"another"}"#, 1, "ann")[0]?["ok"]?.bool == true)
        let tooMany = #"{"name":"bob","rooms":[\#((labels + labels).joined(separator: ","))]}"#
        #expect(throws: ChatRequest.Problem.self) { try scene.enter(tooMany, as: 2) }
    }

    @Test(arguments: [
        ("say", #"{"room":"attic","text":"x","id":"1"}"#, "not_in_room"),
        ("say", #"{"room":"lobby"}"#, "bad_request"),
        ("say", #"{"room":"lobby","text":"","id":"1"}"#, "bad_text"),
        ("say", #"{"room":"lobby","text":"\ud800","id":"1"}"#, "bad_text"),
        ("say", #"{"room":"lobby","text":"x","id":""}"#, "bad_request"), ("join", #"{"room":" "}"#, "bad_room"),
        ("join", #"{"room":"a","seen":-1}"#, "bad_request"), ("who", #"{"room":"a\u0007"}"#, "bad_room"),
        ("who", "[]", "bad_request"), ("who", "", "bad_request"), ("who", #"{},{}"#, "bad_request"),
        ("dance", #"{"room":"lobby"}"#, "bad_request"), ("typing", #"{"room":"attic"}"#, "not_in_room"),
    ])
    func `each invalid request has its error code`(_ event: String, _ json: String, _ code: String) throws {
        var scene = Scene()
        try scene.enter(#"{"name":"ann","rooms":["lobby"]}"#, as: 1)
        #expect(try scene.ask(event, json, 1, "ann")[0]?["code"]?.string == code)
    }

    @Test(arguments: [
        (#"{}"#, "bad_name"), (#"{"name":" "}"#, "bad_name"), (#"{"name":"a\u0000"}"#, "bad_name"),
        (#"{"name":"ann","rooms":"lobby"}"#, "bad_request"), (#"{"name":"ann","rooms":[1]}"#, "bad_room"),
        (#"{"name":"ann","seen":{"lobby":-1}}"#, "bad_request"), (#"{"name":"ann","seen":[1]}"#, "bad_request"),
    ])
    func `a refused entry has a reason`(_ auth: String, _ code: String) throws {
        let payload = try Payload(checking: Array(auth.utf8)[...])
        let problem = #expect(throws: ChatRequest.Problem.self) { try ChatEntry(payload) }
        #expect(problem?.code == code)
    }
}
