internal import Foundation
internal import LinkspanKit
internal import LinkspanTesting
internal import Testing

/// The program of the tutorial "Write a chat room": each of its steps shows the lines from the first one to its own.
@Suite("The tutorial", .timeLimit(.minutes(1)))
struct TutorialExample {
    private static let recorder = EventRecorder()

    private static func print(_ text: String) { self.recorder.note(text) }

    @Test
    func `its program shows both lines`() async throws {
        let print: @Sendable (String) -> Void = Self.print
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.join("lobby")
            peer.on("say") { message in
                hub.emit("line", message.payload, to: "lobby")
                message.reply(.empty)
            }
        }

        let connection = try ConnectionBuilder("memory://tutorial")
            .transport(.inMemory(hub)).connect()

        try connection.on("line", as: String.self) { line in
            if case .success(let text) = line { print(text) }
        }

        try await connection.deliver("say", "hello")

        hub.cut()
        try await connection.enqueue("say", "typed during an outage")
        print(connection.explain())

        hub.restore()
        try await Self.recorder.wait(for: "the second line") { entries in
            entries.contains { if case .note("typed during an outage") = $0 { true } else { false } }
        }
        #expect(Self.recorder.notes.first == "hello")
        connection.release()
    }

    @Test(arguments: 1...7)
    func `each step of it shows code that is compiled`(number: Int) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let step = folder.appending(
            path: "../../Sources/Linkspan/Documentation.docc/Resources/chat-room-\(number).swift"
        ).standardized
        func lines(_ file: URL) throws -> [String] {
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("import ") }
        }
        let shown = try lines(step)
        let program = try lines(URL(filePath: #filePath))
        let first = try #require(program.firstIndex(of: shown[0]))
        // A step may end inside a closure, which it closes itself.
        let body = shown.prefix { $0 != "}" || program[first...].starts(with: shown) }
        #expect(program[first...].starts(with: body), "step \(number)")
        #expect(shown.count > 2)
    }
}
