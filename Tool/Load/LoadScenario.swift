import ArgumentParser
import Foundation
import LinkspanFaults

#if YAML
import Yams
#endif

/// The clients of a load and their steps, as in a file of YAML.
struct LoadScenario: Decodable, Sendable {
    /// A step of every client.
    struct Step: Decodable, Sendable {
        /// What a client does; in a file the name of the step's first field.
        enum Action: String, CaseIterable, Sendable { case emit, request, expect, think }

        enum Field: String, CodingKey, CaseIterable {
            case emit, request, expect, think, payload, rate, count, within, audience, namespace
        }

        var action: Action
        /// The event to send or to wait for; empty for a step that thinks.
        var event = ""
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

        init(_ action: Action, _ event: String) { (self.action, self.event) = (action, event) }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.fields(Field.self)
            let actions = fields.allKeys.compactMap { field in Action(rawValue: field.rawValue).map { (field, $0) } }
            guard let (field, action) = actions.first, actions.count == 1 else {
                let text = "a step has one of emit, request, expect and think, not \(actions.count) of them"
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
            }
            self.action = action
            if action == .think {
                self.seconds = try fields.decode(Double.self, forKey: field)
            } else {
                self.event = try fields.decode(String.self, forKey: field)
            }
            try fields.take(.payload, &self.payload)
            try fields.take(.within, &self.seconds)
            try fields.take(.namespace, &self.namespace)
            self.rate = try fields.decodeIfPresent(Double.self, forKey: .rate)
            self.count = try fields.decodeIfPresent(Int.self, forKey: .count)
            self.audience = try fields.decodeName(forKey: .audience)
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
        let fields = try decoder.fields(Field.self)
        try fields.take(.clients, &self.clients)
        try fields.take(.ramp, &self.ramp)
        try fields.take(.duration, &self.duration)
        try fields.take(.repeat, &self.rounds)
        try fields.take(.settle, &self.settle)
        try fields.take(.users, &self.users)
        try fields.take(.auth, &self.auth)
        try fields.take(.namespaces, &self.namespaces)
        try fields.take(.steps, &self.steps)
        try fields.take(.thresholds, &self.thresholds)
        try fields.take(.drop, &self.drop)
        try fields.take(.profile, &self.profile)
        try fields.take(.seed, &self.seed)
    }

    /// Refuses values outside of their ranges.
    func check() throws {
        func check(_ name: String, _ value: Double, _ range: ClosedRange<Double>) throws {
            guard range.contains(value) else {
                let texts = [range.lowerBound, range.upperBound, value].map(LoadReport.text)
                throw ValidationError("\(name) has to be from \(texts[0]) to \(texts[1]), not \(texts[2])")
            }
        }
        try check("clients", Double(self.clients), 1...1_000_000)
        for (name, value) in [("ramp", self.ramp), ("duration", self.duration ?? 0), ("settle", self.settle)] {
            try check(name, value, 0...1e6)
        }
        try check("drop", self.drop, 0...1)
        try check("repeat", Double(self.rounds ?? 1), 1...1e12)
        if let namespaces, namespaces.isEmpty || !namespaces.allSatisfy({ $0.hasPrefix("/") }) {
            throw ValidationError("namespaces has to be a list of at least one, and each has to begin with /")
        }
        for (index, step) in self.steps.enumerated() {
            let place = "of step \(index + 1)"
            try check("rate \(place)", step.rate ?? 1, 0.001...1e7)
            try check("count \(place)", Double(step.count ?? 1), 1...1e12)
            try check("within or think \(place)", step.seconds, 0...1e6)
            if step.rate != nil, step.count == nil, self.duration == nil {
                throw ValidationError("a step with a rate needs a count, or the run a duration")
            }
            try check("namespace \(place)", Double(step.namespace), 0...Double((self.namespaces?.count ?? 1) - 1))
        }
    }

    /// The lines of a file of CSV, by the names in its first line; quotes keep commas and ends of lines.
    ///
    /// - Throws: `ValidationError` for a table without users, and for a line with another number of cells than the first.
    static func users(_ text: String) throws -> (columns: [String], rows: [[String: String]]) {
        var (lines, cells, cell) = ([[String]](), [String](), "")
        var (isQuoted, previous) = (false, Character(","))
        for character in text.drop(while: { $0 == "\u{FEFF}" }) + "\n" {
            defer { previous = character }
            switch character {
            case "\"":
                isQuoted.toggle()
                // Two quotes inside of quotes are one.
                if isQuoted, previous == "\"" { cell.append(character) }
            case _ where !isQuoted && (character == "," || character.isNewline):
                cells.append(cell)
                cell = ""
                guard character != "," else { continue }
                if cells != [""] { lines.append(cells) }
                cells = []
            default: cell.append(character)
            }
        }
        guard !isQuoted else { throw ValidationError("the table of users has a quote that is not closed") }
        guard let columns = lines.first, lines.count > 1 else {
            throw ValidationError(
                "the table of users needs a line with the names of its columns, and one for each user")
        }
        if let (index, cells) = lines.enumerated().first(where: { $1.count != columns.count }) {
            let names = columns.joined(separator: ",")
            throw ValidationError(
                "user \(index) of the table has \(cells.count) cells, and its first line has \(columns.count): \(names)"
            )
        }
        return (columns, lines.dropFirst().map { Dictionary(zip(columns, $0)) { $1 } })
    }
}

extension KeyedDecodingContainer {
    /// Puts the value of a field in its place, unless the field is missing.
    fileprivate func take<Value: Decodable>(_ field: Key, _ place: inout Value) throws {
        place = try self.decodeIfPresent(Value.self, forKey: field) ?? place
    }
}

extension DecodingError {
    /// The file, the line, the place and the mistake, in a sentence.
    func sentence(for file: String, _ text: String) -> String {
        let (context, mistake): (Context, String?) =
            switch self {
            case .typeMismatch(let type, let context): (context, "has to be \(Self.kind(of: type))")
            case .keyNotFound(let key, let context): (context, "'\(key.stringValue)' is missing")
            case .valueNotFound(_, let context), .dataCorrupted(let context): (context, nil)
            @unknown default: (Context(codingPath: [], debugDescription: "cannot be read"), nil)
            }
        #if YAML
        if case .duplicatedKeysInMapping(let names, let first)? = context.underlyingError as? YamlError {
            return "\(file):\(first.mark.line): '\(names.first ?? "")' is there more than once, first here"
        }
        #endif
        if let error = context.underlyingError {
            // The last two lines show the place in the file.
            let lines = "\(error)".split(separator: "\n").dropLast(2)
            return "\(file):\(lines.joined(separator: " "))"
        }
        if text.allSatisfy(\.isWhitespace) { return "\(file) is empty" }
        let path = context.codingPath
        let place = path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return "\(file)\(Self.line(of: path, in: text)): "
            + "\(place.isEmpty ? "" : "\(place.drop { $0 == "." }): ")\(mistake ?? context.debugDescription)"
    }

    private static func kind(of type: any Any.Type) -> String {
        switch type {
        case is Int.Type, is UInt64.Type: "a whole number"
        case is Double.Type: "a number"
        case is String.Type: "a text"
        #if YAML
        case is Node.Scalar.Type: "one value; a text with { or [ needs quotes"
        #endif
        case is any RangeReplaceableCollection.Type: "a list"
        default: "names with values"
        }
    }

    /// The line of a value in a file, as `:12`; empty when it is not known.
    private static func line(of path: [any CodingKey], in text: String) -> String {
        #if YAML
        guard var node = try? Yams.compose(yaml: text) else { return "" }
        for key in path {
            guard let next = key.intValue.map({ node[$0] }) ?? node[key.stringValue] else { break }
            node = next
        }
        return node.mark.map { ":\($0.line)" } ?? ""
        #else
        return ""
        #endif
    }
}
