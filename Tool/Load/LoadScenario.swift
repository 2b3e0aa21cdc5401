import Foundation
import LinkspanFaults

/// The clients of a load and their steps, as in a file of YAML.
struct LoadScenario: Decodable, Sendable {
    /// A step of every client.
    struct Step: Decodable, Sendable {
        enum Action: Sendable { case emit(String), request(String), expect(String), think }

        enum Field: String, CodingKey, CaseIterable {
            case emit, request, expect, think, payload, rate, count, within, audience, namespace
        }

        var action: Action
        /// The arguments, a template of JSON.
        var payload = #""{{stamp}}""#
        /// Messages in a second, whatever the server does; nil for one after the other, and emits at once.
        var rate: Double?
        /// The number of messages; nil for one, or with a rate for as many as the run lasts.
        var count: Int?
        /// The seconds to wait for an answer or an event, or to think.
        var seconds = 10.0
        /// The clients to which the server passes a message on.
        var audience: SequenceBook.Audience?
        var namespace = 0

        init(_ action: Action) { self.action = action }

        init(from decoder: any Decoder) throws {
            try decoder.refuseUnknown(Field.self)
            let fields = try decoder.container(keyedBy: Field.self)
            func text(_ field: Field) throws -> String? { try fields.decodeIfPresent(String.self, forKey: field) }
            if let name = try text(.emit) {
                self.action = .emit(name)
            } else if let name = try text(.request) {
                self.action = .request(name)
            } else if let name = try text(.expect) {
                self.action = .expect(name)
            } else {
                self.action = .think
                self.seconds = try fields.decode(Double.self, forKey: .think)
            }
            self.payload = try text(.payload) ?? self.payload
            self.rate = try fields.decodeIfPresent(Double.self, forKey: .rate)
            self.count = try fields.decodeIfPresent(Int.self, forKey: .count)
            self.seconds = try fields.decodeIfPresent(Double.self, forKey: .within) ?? self.seconds
            self.audience = try fields.decodeIfPresent(SequenceBook.Audience.self, forKey: .audience)
            self.namespace = try fields.decodeIfPresent(Int.self, forKey: .namespace) ?? 0
        }
    }

    enum Field: String, CodingKey, CaseIterable {
        case clients, ramp, duration, `repeat`, settle, users, auth, namespaces, steps, thresholds, drop, profile, seed
    }

    var clients = 100
    /// The seconds over which clients begin.
    var ramp = 1.0
    /// The seconds of the steps; nil until they are done.
    var duration: Double?
    /// The number of times that each client takes the steps; nil for once, or with a duration for as long as that.
    var rounds: Int?
    /// The seconds to wait at the end for messages under way.
    var settle = 5.0
    /// A file of CSV, whose first line names the columns; client after client takes a line.
    var users: String?
    var auth: String?
    /// The namespaces of each client; nil for that of the URL.
    var namespaces: [String]?
    var steps: [Step] = []
    var thresholds: [String] = []
    /// The share of connections that are reset in each second.
    var drop = 0.0
    var profile: FaultProfile?
    var seed: UInt64 = 0

    init() {}

    init(from decoder: any Decoder) throws {
        try decoder.refuseUnknown(Field.self)
        let fields = try decoder.container(keyedBy: Field.self)
        func take<Value: Decodable>(_ field: Field, _ place: inout Value) throws {
            place = try fields.decodeIfPresent(Value.self, forKey: field) ?? place
        }
        try take(.clients, &self.clients)
        try take(.ramp, &self.ramp)
        try take(.duration, &self.duration)
        try take(.repeat, &self.rounds)
        try take(.settle, &self.settle)
        try take(.users, &self.users)
        try take(.auth, &self.auth)
        try take(.namespaces, &self.namespaces)
        try take(.steps, &self.steps)
        try take(.thresholds, &self.thresholds)
        try take(.drop, &self.drop)
        try take(.profile, &self.profile)
        try take(.seed, &self.seed)
    }

    /// Refuses values outside of their ranges.
    func check() throws {
        func check(_ name: String, _ value: Double, _ range: ClosedRange<Double>) throws {
            guard range.contains(value) else {
                throw LoadProblem("\(name) has to be from \(range.lowerBound) to \(range.upperBound), not \(value)")
            }
        }
        try check("clients", Double(self.clients), 1...1_000_000)
        for (name, value) in [("ramp", self.ramp), ("duration", self.duration ?? 0), ("settle", self.settle)] {
            try check(name, value, 0...1e6)
        }
        try check("drop", self.drop, 0...1)
        for step in self.steps {
            try check("rate", step.rate ?? 1, 0.001...1e7)
            try check("count", Double(step.count ?? 1), 1...1e12)
            try check("within and think", step.seconds, 0...1e6)
            if step.rate != nil, step.count == nil, self.duration == nil {
                throw LoadProblem("a step with a rate needs a count, or the run a duration")
            }
            try check("namespace", Double(step.namespace), 0...Double((self.namespaces?.count ?? 1) - 1))
        }
    }

    /// The lines of a file of CSV, by the names in its first line; quotes keep commas.
    static func users(_ text: String) -> (columns: [String], rows: [[String: String]]) {
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            var cells = [""]
            var isQuoted = false
            for character in line {
                switch character {
                case "\"": isQuoted.toggle()
                case "," where !isQuoted: cells.append("")
                default: cells[cells.count - 1].append(character)
                }
            }
            return cells
        }
        let columns = lines.first ?? []
        return (columns, lines.dropFirst().map { Dictionary(zip(columns, $0)) { $1 } })
    }
}

/// A value of which only the name counts.
private struct AnyValue: Decodable {
    init(from decoder: any Decoder) {}
}

extension Decoder {
    /// Throws for a name that a section does not have.
    fileprivate func refuseUnknown<Field: CaseIterable & RawRepresentable<String>>(_ fields: Field.Type) throws {
        let known = fields.allCases.map(\.rawValue)
        for name in try [String: AnyValue](from: self).keys.sorted() where !known.contains(name) {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: self.codingPath,
                    debugDescription: "'\(name)' is none of \(known.joined(separator: ", "))"))
        }
    }
}

extension DecodingError {
    /// The place and the mistake, in a sentence.
    var sentence: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            return Self.sentence(context.codingPath, context.debugDescription)
        case .keyNotFound(let key, let context):
            return Self.sentence(context.codingPath, "'\(key.stringValue)' is missing")
        @unknown default: return "\(self)"
        }
    }

    private static func sentence(_ path: [any CodingKey], _ text: String) -> String {
        let place = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        return place.isEmpty ? text : "\(place): \(text)"
    }
}
