import Linkspan

/// The payloads of PROTOCOL.md.
enum ChatVocabulary {
    /// Who enters, and where.
    struct Entry: Codable, Sendable {
        var name: String
        var rooms: [String]
        /// The number of the last line that was seen, and the numbering that it belongs to, by room.
        var seen: [String: Int]?
        var numbering: [String: String]?
    }

    /// How far somebody has seen a room's conversation.
    struct Seen: Hashable, Sendable {
        var seq: Int
        /// The numbering that the number belongs to; nil for a server that does not name it.
        var numbering: String?
    }

    /// A line to send.
    struct Say: Codable, Sendable {
        var room: String
        var text: String
        var id: String
    }

    /// A line from somebody.
    struct Line: Codable, Sendable {
        var room: String
        var from: String
        var text: String
        var id: String
        /// Counts the lines of the room, from 1.
        var seq: Int
    }

    /// A room that is asked for, and the number of the last line that was seen of it.
    struct Place: Codable, Sendable {
        var room: String
        var seen: Int?
        var numbering: String?
    }

    /// Where a room's conversation stands.
    struct Position: Codable, Sendable {
        var room: String
        var seq: Int
        var numbering: String?
    }

    /// Lines that were missed and cannot be had any more.
    struct Gap: Codable, Sendable {
        var room: String
        /// How many, if that is known.
        var lines: Int?

        /// Writes null for an unknown value.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.room, forKey: .room)
            try container.encode(self.lines, forKey: .lines)
        }
    }

    /// Somebody who came, went or types.
    struct Presence: Codable, Sendable {
        var room: String
        var name: String
    }

    /// What a room is about.
    struct Topic: Codable, Sendable {
        var room: String
        /// Empty for none.
        var topic: String
        /// The author; nil for the topic at an entry.
        var name: String?
    }

    /// A message to one person alone.
    struct Direct: Codable, Sendable {
        /// Who says it; the server knows.
        var from: String?
        var to: String
        var text: String
        var id: String
    }

    /// The server's answer to anything.
    struct Answer: Codable, Sendable {
        struct Problem: Codable, Sendable {
            var code: String
            var message: String
        }

        var ok: Bool
        var error: Problem?
        var members: [String]?
        /// The number of the room's last line, or of the line that was said.
        var seq: Int?

        /// Why something did not work, or nil if it did.
        static func refusal(in outcome: Result<Payload, LinkspanError>) -> String? {
            do throws(LinkspanError) {
                let answer = try outcome.get().decode(Self.self)
                return answer.ok ? nil : answer.error?.message ?? "the server gave no reason"
            } catch {
                return error.message
            }
        }
    }
}
