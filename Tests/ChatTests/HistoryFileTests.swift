internal import Foundation
internal import Linkspan
internal import Testing

@testable internal import chat

/// The file of `chat serve --history`.
@Suite
struct HistoryFileTests {
    /// Runs a test with the path of a file that is not there, in a folder of its own.
    private static func run(_ test: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("history-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try test(folder.appendingPathComponent("chat.jsonl").path)
    }

    private static func say(_ text: String, in room: String, _ rooms: inout ChatRooms) throws -> Int? {
        try rooms.perform(.say(room: room, text: text, id: text), by: 1, "ann").answer.seq
    }

    /// The lines that a file gives somebody who has seen none.
    private static func texts(in rooms: ChatRooms) -> [String] {
        rooms.lines.compactMap { $0[0]?["text"]?.string }
    }

    @Test
    func `lines, numbers, keys and numbering are the same after a restart, without a last line that is not whole`()
        throws
    {
        try Self.run { path in
            var first = try HistoryFile.rooms(at: path)
            let ann = try ChatEntry(Payload(["name": "ann"]))
            _ = first.enter(ann, as: 1)
            for room in ["lobby", "attic"] { _ = try first.perform(.join(room: room, seen: nil), by: 1, "ann") }
            for (text, room) in [("one", "lobby"), ("two \u{2028}é", "lobby"), ("three", "attic")] {
                _ = try Self.say(text, in: room, &first)
            }
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
            // The first is locked as long as this process is there.
            let copy = path + ".copy"
            let torn = try Data(contentsOf: URL(fileURLWithPath: path)) + Data(#"{"room":"lobby","fr"#.utf8)
            try torn.write(to: URL(fileURLWithPath: copy))
            var second = try HistoryFile.rooms(at: copy)
            #expect(second.numbering == first.numbering)
            #expect(Self.texts(in: second) == ["one", "two \u{2028}é", "three"])
            _ = second.enter(ann, as: 1)
            _ = try second.perform(.join(room: "lobby", seen: nil), by: 1, "ann")
            #expect(try Self.say("one", in: "lobby", &second) == 1)
            #expect(try Self.say("four", in: "lobby", &second) == 3)
            let text = try String(contentsOfFile: copy, encoding: .utf8)
            #expect(text.split(separator: "\n").count == 5 && text.hasSuffix("\"seq\":3}\n"))
        }
    }

    @Test
    func `a hole in a file is a gap, and a file of server.py is read`() throws {
        try Self.run { path in
            let lines = [1, 2, 5].map { #"{"room":"lobby","from":"ann","text":"\#($0)","id":"\#($0)","seq":\#($0)}"# }
            try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            var rooms = try HistoryFile.rooms(at: path)
            #expect(Self.texts(in: rooms) == ["5"])
            let bob = try ChatEntry(
                Payload(checking: Array(#"{"name":"bob","rooms":["lobby"],"seen":{"lobby":2}}"#.utf8)[...]))
            #expect(rooms.enter(bob, as: 1).map(\.event) == ["gap", "room", "message"])
        }
    }

    @Test(arguments: [
        "nonsense", "{}", #"{"room":"lobby","from":"ann","text":"x","id":"1","seq":0}"#,
        #"{"numbering":"n","start":-1}"#,
    ])
    func `a damaged line is named, and the file is left as it is`(_ line: String) throws {
        try Self.run { path in
            let text = #"{"numbering":"n"}"# + "\n\(line)\n"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let failure = #expect(throws: HistoryFile.Failure.self) { try HistoryFile.rooms(at: path) }
            #expect(failure?.message.contains("line 2 is damaged") == true)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
    }

    @Test
    func `a file in use and a folder that is not there are reported`() throws {
        try Self.run { path in
            _ = try HistoryFile.rooms(at: path)
            let second = #expect(throws: HistoryFile.Failure.self) { try HistoryFile.rooms(at: path) }
            #expect(second?.message.contains("another server uses it") == true)
            let missing = #expect(throws: HistoryFile.Failure.self) { try HistoryFile.rooms(at: "\(path)/x/y") }
            #expect(missing?.message.hasPrefix("the history '\(path)/x/y' cannot be used: ") == true)
        }
    }
}
