internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanConfiguration

@Suite("Watching a file")
struct FileWatchTests {
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private func look(_ text: String, file: UInt64 = 1, time: Int64 = 1) throws -> FileLook {
        FileLook(
            identity: .init(device: 1, number: file, size: Int64(text.utf8.count), seconds: time, nanoseconds: 0),
            content: .text(try FileText(bytes: Array(text.utf8))))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `rewriting the same content is no change`() throws {
        var watch = FileWatch(known: try self.look("a").content)
        var changes = 0
        for time: Int64 in 1...5 {
            if watch.see(try self.look("a", file: UInt64(time), time: time)) { changes += 1 }
        }
        #expect(changes == 0)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a change counts once, when two looks in a row are alike`() throws {
        var watch = FileWatch(known: try self.look("a").content)
        let seen = try (0..<4).map { _ in try watch.see(self.look("b", time: 2)) }
        #expect(seen == [false, true, false, false])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that is being written is left alone until it rests`() throws {
        var watch = FileWatch(known: try self.look("abc").content)
        // Emptied, then filled in three steps.
        let texts = ["", "x", "xy", "xyz", "xyz"]
        let seen = try texts.enumerated().map { try watch.see(self.look($1, time: Int64(2 + min($0, 3)))) }
        #expect(seen == [false, false, false, false, true])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a text that was there before between two others is not mistaken for rest`() throws {
        var watch = FileWatch(known: try self.look("a").content)
        let seen = try [
            watch.see(self.look("b", time: 2)), watch.see(self.look("c", time: 3)),
            watch.see(self.look("b", time: 4)), watch.see(self.look("b", file: 2, time: 4)),
            watch.see(self.look("b", file: 2, time: 4)),
        ]
        #expect(seen == [false, false, false, false, true])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that goes and comes back between two looks is no change; one that stays away is one`() throws {
        let gone = FileLook(identity: nil, content: .failure("gone"))
        var watch = FileWatch(known: try self.look("a").content)
        let seen = try [
            watch.see(gone), watch.see(self.look("a", file: 2)), watch.see(gone), watch.see(gone), watch.see(gone),
        ]
        #expect(seen == [false, false, false, true, false])
    }
}
