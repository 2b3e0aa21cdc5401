internal import Linkspan

/// The faults of a ``FaultProxy``, along a time line.
///
/// ```swift
/// let outage = FaultProfile([
///     .init { ($0.delay, $0.loss) = (.milliseconds(40), 0.01) },
///     .init(at: .seconds(30)) { ($0.cut, $0.ending) = (0, .reset) },
///     .init(at: .seconds(45)),
/// ])
/// ```
///
/// In a file it is a list `phases`, with times in seconds:
///
/// ```yaml
/// phases:
///   - {delay: 0.04, jitter: 0.02, loss: 0.01}
///   - {at: 30, cut: 0, ending: reset}
///   - {at: 45}
/// ```
public struct FaultProfile: Sendable, Hashable, Decodable {
    /// The phases; of those that have begun and that concern a direction, the last one counts.
    public var phases: [Phase]

    /// Makes a profile; without phases nothing is changed.
    public init(_ phases: [Phase] = []) { self.phases = phases }

    /// Makes a profile of one phase.
    public init(_ configure: (inout Phase) -> Void) { self.phases = [Phase(configure)] }

    private enum Field: String, CodingKey, CaseIterable { case phases }

    /// Reads a profile.
    ///
    /// - Throws: `DecodingError` for an unknown name, and for what is wrong with a phase.
    public init(from decoder: any Decoder) throws {
        self.phases = try decoder.fields(Field.self).decode([Phase].self, forKey: .phases)
    }

    /// A part of the time line.
    public struct Phase: Sendable, Hashable {
        /// The time at which it begins, since the proxy began or was given the profile.
        public var at = Duration.zero
        /// The side whose bytes it concerns; nil for both.
        public var from: Side?
        /// The time that each byte takes.
        public var delay = Duration.zero
        /// The most time that is added, by chance, to the delay of a segment of 1,460 bytes.
        ///
        /// Bytes stay in order.
        public var jitter = Duration.zero
        /// The bytes that pass in a second; nil for no limit.
        public var rate: Int?
        /// The probability that a segment is lost: it then takes three times the delay and 200 ms, as if it was sent again, and
        /// holds up what follows.
        public var loss = 0.0
        /// The probability that a bit of a byte is flipped.
        public var corruption = 0.0
        /// The number of bytes of a direction after which the connection ends; 0 ends those that are open, too.
        public var cut: Int?
        /// The probability that a connection ends within a second.
        public var drops = 0.0
        /// How a connection ends by `cut` or `drops`.
        public var ending = Ending.close

        /// Makes a phase without faults, and lets a closure add some.
        public init(at start: Duration = .zero, _ configure: (inout Self) -> Void = { _ in }) {
            self.at = start
            configure(&self)
        }
    }

    /// A side of a connection.
    public enum Side: String, Sendable, Hashable, Decodable, CaseIterable {
        /// The one that connects to the proxy.
        case client
        /// The one that the proxy connects to.
        case server
    }

    /// How a connection ends.
    public enum Ending: String, Sendable, Hashable, Decodable, CaseIterable {
        /// Both sides see an orderly end.
        case close
        /// Both sides see a reset.
        case reset
        /// Neither side sees anything: the connection stays open, and nothing passes any more.
        case halfOpen
    }

    /// The phase that counts for the bytes of a side at a time since the beginning.
    package func phase(from side: Side, at time: Duration) -> Phase {
        self.phases.filter { $0.at <= time && $0.from.map { $0 == side } ?? true }
            .max { $0.at < $1.at } ?? Phase()
    }

    /// The beginning of the first phase after a time.
    package func change(after time: Duration) -> Duration? { self.phases.lazy.map(\.at).filter { $0 > time }.min() }
}

// MARK: - File

extension FaultProfile.Phase: Decodable {
    private enum Field: String, CodingKey, CaseIterable {
        case at, from, delay, jitter, rate, loss, corruption, cut, drops, ending
    }

    /// Reads a phase; a missing field is as in a phase without faults.
    ///
    /// - Throws: `DecodingError` for an unknown name, and for a value outside of its range.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(Field.self)
        func number(_ field: Field, _ range: ClosedRange<Double> = 0...1) throws -> Double {
            let value = try fields.decodeIfPresent(Double.self, forKey: field) ?? 0
            guard range.contains(value) else {
                let text = "\(field.rawValue) has to be from \(range.lowerBound) to \(range.upperBound), not \(value)"
                throw DecodingError.dataCorruptedError(forKey: field, in: fields, debugDescription: text)
            }
            return value
        }
        func time(_ field: Field) throws -> Duration { .seconds(try number(field, 0...86_400)) }
        func count(_ field: Field, from least: Double) throws -> Int? {
            fields.contains(field) ? Int(try number(field, least...1e15)) : nil
        }
        (self.at, self.delay, self.jitter) = (try time(.at), try time(.delay), try time(.jitter))
        (self.loss, self.corruption, self.drops) = (try number(.loss), try number(.corruption), try number(.drops))
        (self.rate, self.cut) = (try count(.rate, from: 1), try count(.cut, from: 0))
        self.from = try fields.decodeName(forKey: .from)
        self.ending = try fields.decodeName(forKey: .ending) ?? .close
    }
}

extension Decoder {
    /// The fields of a section of a file.
    ///
    /// - Throws: `DecodingError` for a name that the section does not have.
    package func fields<Field: CodingKey & CaseIterable & RawRepresentable<String>>(
        _ names: Field.Type
    ) throws -> KeyedDecodingContainer<Field> {
        let known = names.allCases.map(\.rawValue)
        for key in try self.container(keyedBy: PayloadKey.self).allKeys where !known.contains(key.stringValue) {
            let text = "'\(key.stringValue)' is none of \(known.joined(separator: ", "))"
            throw DecodingError.dataCorrupted(.init(codingPath: self.codingPath + [key], debugDescription: text))
        }
        return try self.container(keyedBy: Field.self)
    }
}

extension KeyedDecodingContainer {
    /// The value of an enumeration by its name in a file; nil when there is none.
    ///
    /// - Throws: `DecodingError` with the names that there are.
    package func decodeName<Value: CaseIterable & RawRepresentable<String>>(forKey key: Key) throws -> Value? {
        guard let name = try self.decodeIfPresent(String.self, forKey: key) else { return nil }
        if let value = Value(rawValue: name) { return value }
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "'\(name)' is none of \(names)")
    }
}
