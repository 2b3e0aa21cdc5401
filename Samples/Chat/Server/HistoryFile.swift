import Foundation
import Linkspan

/// The file of `--history`: one line of JSON for the numbering, then one for each line of the chat, as it went out.
///
/// `server.py` reads and writes the same files.
enum HistoryFile {
    /// Why a file cannot be used.
    struct Failure: Error { var message: String }

    private struct Numbering: Codable {
        var numbering: String
        var start: Int?
    }

    /// Reads a file into new rooms, which then add each of their lines to it.
    ///
    /// The file is locked until this process ends, and loses at this time what is no longer kept.
    static func rooms(at path: String) throws(Failure) -> ChatRooms {
        do {
            try Self.lock(path)
            var rooms = ChatRooms()
            if FileManager.default.fileExists(atPath: path) { try Self.read(path, into: &rooms) }
            let file = try Self.rewrite(path, rooms)
            rooms.keep = { line throws(ChatRequest.Problem) in try Self.append(line, to: file) }
            return rooms
        } catch {
            let why = (error as? Failure)?.message ?? error.localizedDescription
            throw Failure(message: "the history '\(path)' cannot be used: \(why)")
        }
    }

    private static func lock(_ path: String) throws {
        let file = open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw Failure(message: String(cString: strerror(errno))) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else { throw Failure(message: "another server uses it") }
    }

    private static func read(_ path: String, into rooms: inout ChatRooms) throws {
        var rest = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)[...]
        var number = 0
        // Nobody has heard of a last line without an end: the process was killed while it wrote.
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            number += 1
            let (text, positions) = (rest[..<end], 0...(1 << 53))
            if let line = try? JSONDecoder().decode(ChatVocabulary.Line.self, from: text),
                positions.contains(line.seq - 1)
            {
                rooms.restore(line)
            } else if let numbering = try? JSONDecoder().decode(Numbering.self, from: text),
                positions.contains(numbering.start ?? 0)
            {
                (rooms.numbering, rooms.start) = (numbering.numbering, numbering.start ?? 0)
            } else {
                throw Failure(message: "line \(number) is damaged; move the file away to begin anew")
            }
            rest = rest[(end + 1)...]
        }
    }

    /// Replaces the file by one with the kept lines alone, and returns it open for more.
    private static func rewrite(_ path: String, _ rooms: ChatRooms) throws -> FileHandle {
        let numbering = try JSONEncoder().encode(Numbering(numbering: rooms.numbering, start: rooms.start))
        let lines = [numbering] + rooms.lines.map { Data($0.elements) }
        // Lines are private.
        umask(0o077)
        let data = Data(lines.map { $0 + [UInt8(ascii: "\n")] }.joined())
        try data.write(to: URL(fileURLWithPath: path), options: .atomic)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seekToEnd()
        return file
    }

    private static func append(_ line: Payload, to file: FileHandle) throws(ChatRequest.Problem) {
        do {
            let size = try file.offset()
            do {
                try file.write(contentsOf: Data(line.elements + [UInt8(ascii: "\n")]))
            } catch {
                // Half a line in the middle of the file could not be read any more.
                try file.truncate(atOffset: size)
                throw error
            }
        } catch {
            throw ChatRequest.Problem("not_kept", "the line could not be kept: \(error.localizedDescription)")
        }
    }
}
