internal import Testing

/// The deliveries that killed clients with an outbox accepted, the outcomes that they offered, and how they died.
package struct VictimRecord: Sendable {
    package private(set) var accepted: Set<String> = []
    private var offered: Set<String> = []
    private var kills: [String: Int] = [:]

    package init() {}

    /// Notes the output of a client, and the moment of its death if it was killed.
    package mutating func note(_ lines: [String], killedAt moment: String? = nil) {
        if let moment { self.kills[moment, default: 0] += 1 }
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "accepted": self.accepted.insert(words[1])
            case "offered":
                #expect(words.last == "delivered", "\(line)")
                self.offered.insert(words[1])
            case "refused": Issue.record("\(line)")
            default: ()
            }
        }
    }

    /// Runs a client until it has sent all that is left.
    package mutating func drain(_ arguments: [String], errors: String) async throws {
        let client = try Victim(arguments + ["--drain", "yes"], errors: errors)
        let lines = try await client.end(within: .seconds(300))
        #expect(lines.last == "drained", "\(lines.suffix(3)) \(client.complaints)")
        self.note(lines)
    }

    /// Expects that something was accepted, that all of it has arrived, and that all outcomes were offered.
    package func check(arrived: Set<String>) {
        let (lost, notOffered) = (self.accepted.subtracting(arrived), self.accepted.subtracting(self.offered))
        #expect(lost.isEmpty, "accepted and lost")
        #expect(notOffered.isEmpty, "no outcome offered")
        #expect(self.accepted.count > 0)
    }

    package var figures: String {
        let kinds = self.kills.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "\(self.kills.values.reduce(0, +)) kills \(kinds), \(self.accepted.count) accepted"
    }
}
