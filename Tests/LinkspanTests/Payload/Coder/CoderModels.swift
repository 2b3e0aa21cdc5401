internal import Foundation
internal import LinkspanTesting

/// A type of which random values are made, to compare coders by.
protocol RandomValue: Codable, Equatable {
    static func random(_ generator: inout SeededGenerator) -> Self
}

extension SeededGenerator {
    mutating func chance(_ parts: Int) -> Bool { Int.random(in: 0..<parts, using: &self) == 0 }

    mutating func array<Element>(upTo count: Int, _ make: (inout Self) -> Element) -> [Element] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in make(&self) }
    }

    mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: .max
        case 1: .min
        case 2: Integer(truncatingIfNeeded: Int.random(in: -3...300, using: &self))
        default: .random(in: .min ... .max, using: &self)
        }
    }

    mutating func string() -> String {
        let pieces = [
            "", "a", "key", "\"", "\\", "/", "\u{08}\u{0C}\n\r\t", "\u{00}\u{1F}\u{7F}", "é", "e\u{301}", "😀",
            "\u{2028}",
            "_placeholder", "2026-01-31T12:00:00.000Z", "a longer text that does not fit into a small string",
        ]
        return self.array(upTo: 3) { pieces[Int.random(in: 0..<pieces.count, using: &$0)] }.joined()
    }

    mutating func double() -> Double {
        switch Int.random(in: 0..<6, using: &self) {
        case 0:
            [0, -0.0, 1, .pi, Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e16, 123456789012345680, 0.1][
                Int.random(in: 0..<9, using: &self)]
        case 1: Double(Int.random(in: -1000...1000, using: &self)) / 100
        case 2: Double(Int.random(in: -1000...1000, using: &self))
        default:
            {
                let number = Double(bitPattern: self.next()); return number.isFinite ? number : 0.5
            }()
        }
    }

    mutating func date() -> Date {
        Date(
            timeIntervalSince1970: Double(Int.random(in: -60_000_000_000_000...100_000_000_000_000, using: &self))
                / 1000)
    }

    mutating func optional<Value>(_ make: (inout Self) -> Value) -> Value? { self.chance(3) ? nil : make(&self) }
}

struct Scalars: RandomValue {
    var isOn: Bool
    var text: String
    var int: Int
    var int8: Int8
    var int16: Int16
    var int32: Int32
    var int64: Int64
    var uint: UInt
    var uint8: UInt8
    var uint16: UInt16
    var uint32: UInt32
    var uint64: UInt64
    var double: Double
    var float: Float
    var note: String?
    var count: Int?
    var ratio: Double?

    static func random(_ generator: inout SeededGenerator) -> Self {
        Self(
            isOn: generator.chance(2), text: generator.string(), int: generator.integer(Int.self),
            int8: generator.integer(Int8.self), int16: generator.integer(Int16.self),
            int32: generator.integer(Int32.self), int64: generator.integer(Int64.self),
            uint: generator.integer(UInt.self), uint8: generator.integer(UInt8.self),
            uint16: generator.integer(UInt16.self), uint32: generator.integer(UInt32.self),
            uint64: generator.integer(UInt64.self), double: generator.double(),
            float: {
                let number = Float(bitPattern: UInt32(truncatingIfNeeded: $0.next()));
                return number.isFinite ? number : 1.5
            }(
                &generator), note: generator.optional { $0.string() },
            count: generator.optional { $0.integer(Int.self) },
            ratio: generator.optional { $0.double() })
    }
}

/// What Foundation knows besides numbers and strings.
struct FoundationValues: RandomValue {
    var sentAt: Date
    var seenAt: Date?
    var dates: [Date]
    var homePage: URL
    var id: UUID
    var price: Decimal
    var image: Data
    var thumbnails: [Data?]

    static func random(_ generator: inout SeededGenerator) -> Self {
        let paths = ["", "/a/b?c=d#e", "/%20x", "/é"]
        return Self(
            sentAt: generator.date(), seenAt: generator.optional { $0.date() },
            dates: generator.array(upTo: 3) { $0.date() },
            homePage: URL(string: "https://example.com\(paths[Int.random(in: 0..<4, using: &generator)])")
                ?? URL(fileURLWithPath: "/"),
            id: UUID(
                uuid: (
                    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8.random(in: 0...255, using: &generator)
                )),
            price: Decimal(Int.random(in: -1_000_000...1_000_000, using: &generator)) / 1000,
            image: Data(generator.array(upTo: 5) { $0.integer(UInt8.self) }),
            thumbnails: generator.array(upTo: 2) { generator in
                generator.optional { Data($0.array(upTo: 3) { $0.integer(UInt8.self) }) }
            })
    }
}

/// Collections in collections, and dictionaries with all kinds of keys.
struct Collections: RandomValue {
    enum Side: String, Codable, CodingKeyRepresentable { case leftSide, right }

    var matrix: [[Int]]
    var words: [String?]
    var byName: [String: Scalar]
    var byNumber: [Int: Bool]
    var bySide: [Side: [Double]]
    var unique: Set<Int>
    var none: Int??

    struct Scalar: Codable, Equatable { var someValue: Int }

    static func random(_ generator: inout SeededGenerator) -> Self {
        // Above 16 members a table takes the place of a search.
        let many = generator.chance(4) ? 40 : 3
        return Self(
            matrix: generator.array(upTo: 3) { $0.array(upTo: 3) { $0.integer(Int.self) } },
            words: generator.array(upTo: 4) { $0.optional { $0.string() } },
            byName: Dictionary(
                generator.array(upTo: many) {
                    ("\($0.string())\($0.next() % 100)", Scalar(someValue: $0.integer(Int.self)))
                },
                uniquingKeysWith: { $1 }),
            byNumber: Dictionary(
                generator.array(upTo: many) { ($0.integer(Int.self), $0.chance(2)) }, uniquingKeysWith: { $1 }),
            bySide: generator.chance(2) ? [.leftSide: [generator.double()]] : [.right: [], .leftSide: []],
            unique: Set(generator.array(upTo: 3) { $0.integer(Int.self) }), none: generator.chance(2) ? nil : .some(3))
    }
}

/// The form that the compiler gives to enums.
indirect enum Shape: RandomValue {
    case point
    case circle(radius: Double)
    case named(String, [Shape])
    case pair(left: Shape, right: Shape?)

    static func random(_ generator: inout SeededGenerator) -> Self { self.random(&generator, depth: 3) }

    private static func random(_ generator: inout SeededGenerator, depth: Int) -> Self {
        switch Int.random(in: depth == 0 ? 0..<2 : 0..<4, using: &generator) {
        case 0: .point
        case 1: .circle(radius: generator.double())
        case 2: .named(generator.string(), generator.array(upTo: 3) { self.random(&$0, depth: depth - 1) })
        default:
            .pair(
                left: self.random(&generator, depth: depth - 1),
                right: generator.optional { self.random(&$0, depth: depth - 1) })
        }
    }
}

/// Any JSON, by trying one type after another.
indirect enum AnyJSON: RandomValue {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        if var array = try? decoder.unkeyedContainer() {
            var elements: [AnyJSON] = []
            while !array.isAtEnd { elements.append(try array.decode(AnyJSON.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else {
            self = .object(try container.decode([String: AnyJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        if case .array(let elements) = self {
            var array = encoder.unkeyedContainer()
            for element in elements { try array.encode(element) }
            return
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }

    static func random(_ generator: inout SeededGenerator) -> Self { self.random(&generator, depth: 4) }

    private static func random(_ generator: inout SeededGenerator, depth: Int) -> Self {
        switch Int.random(in: depth == 0 ? 0..<4 : 0..<6, using: &generator) {
        case 0: .null
        case 1: .bool(generator.chance(2))
        case 2: .number(generator.double())
        case 3: .string(generator.string())
        case 4: .array(generator.array(upTo: 4) { self.random(&$0, depth: depth - 1) })
        default:
            .object(
                Dictionary(
                    generator.array(upTo: 4) { ($0.string(), self.random(&$0, depth: depth - 1)) },
                    uniquingKeysWith: { $1 }))
        }
    }
}

/// A class and one below it, which keeps the members of the former in a value of its own or among its own.
class Animal: Codable {
    var name: String

    init(name: String) { self.name = name }
}

final class Dog: Animal, RandomValue {
    var isGood: Bool
    var sharesContainer: Bool

    private enum CodingKeys: String, CodingKey { case isGood, sharesContainer, name }

    init(name: String, isGood: Bool, sharesContainer: Bool) {
        self.isGood = isGood
        self.sharesContainer = sharesContainer
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.isGood = try container.decode(Bool.self, forKey: .isGood)
        self.sharesContainer = try container.decode(Bool.self, forKey: .sharesContainer)
        try super.init(from: self.sharesContainer ? decoder : container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        // Written twice: the latter counts.
        try container.encode(!self.isGood, forKey: .isGood)
        try super.encode(to: self.sharesContainer ? encoder : container.superEncoder())
        try container.encode(self.sharesContainer, forKey: .sharesContainer)
        try container.encode(self.isGood, forKey: .isGood)
    }

    static func == (left: Dog, right: Dog) -> Bool {
        left.name == right.name && left.isGood == right.isGood && left.sharesContainer == right.sharesContainer
    }

    static func random(_ generator: inout SeededGenerator) -> Dog {
        Dog(name: generator.string(), isGood: generator.chance(2), sharesContainer: generator.chance(2))
    }
}

/// Containers in containers, written in another order than they were made, and a key that is written twice.
struct Containers: RandomValue {
    var first: [Int]
    var second: String
    var third: [[String]]
    var last: Bool?

    private enum Outer: String, CodingKey { case info, list, last, empty }

    private enum Inner: String, CodingKey { case first, second }

    init(first: [Int], second: String, third: [[String]], last: Bool?) {
        self.first = first
        self.second = second
        self.third = third
        self.last = last
    }

    init(from decoder: any Decoder) throws {
        let outer = try decoder.container(keyedBy: Outer.self)
        self.last = try outer.decodeIfPresent(Bool.self, forKey: .last)
        let info = try outer.nestedContainer(keyedBy: Inner.self, forKey: .info)
        self.second = try info.decode(String.self, forKey: .second)
        var first = try info.nestedUnkeyedContainer(forKey: .first)
        self.first = []
        while !first.isAtEnd {
            if try first.decodeNil() { continue }
            self.first.append(try first.decode(Int.self))
        }
        var list = try outer.nestedUnkeyedContainer(forKey: .list)
        self.third = []
        while !list.isAtEnd {
            var words: [String] = []
            var inner = try list.nestedUnkeyedContainer()
            while !inner.isAtEnd { words.append(try String(from: inner.superDecoder())) }
            self.third.append(words)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var outer = encoder.container(keyedBy: Outer.self)
        var list = outer.nestedUnkeyedContainer(forKey: .list)
        var info = outer.nestedContainer(keyedBy: Inner.self, forKey: .info)
        try info.encode("overwritten", forKey: .second)
        try outer.encodeIfPresent(self.last, forKey: .last)
        var first = info.nestedUnkeyedContainer(forKey: .first)
        _ = outer.nestedContainer(keyedBy: Inner.self, forKey: .empty)
        for words in self.third {
            var inner = list.nestedUnkeyedContainer()
            for word in words { try word.encode(to: inner.superEncoder()) }
        }
        for number in self.first {
            try first.encodeNil()
            try first.encode(number)
        }
        // Goes on with the container that is there.
        var again = outer.nestedContainer(keyedBy: Inner.self, forKey: .info)
        try again.encode(self.second, forKey: .second)
    }

    static func random(_ generator: inout SeededGenerator) -> Self {
        Self(
            first: generator.array(upTo: 3) { $0.integer(Int.self) }, second: generator.string(),
            third: generator.array(upTo: 3) { $0.array(upTo: 3) { $0.string() } },
            last: generator.optional { $0.chance(2) })
    }
}

/// All of them in one value, so that members are found behind large ones, and in another order than they are written.
struct Everything: RandomValue {
    var shape: Shape
    var dog: Dog
    var containers: [Containers]
    var json: AnyJSON
    var collections: Collections?

    static func random(_ generator: inout SeededGenerator) -> Self {
        Self(
            shape: .random(&generator), dog: .random(&generator), containers: generator.array(upTo: 2) { .random(&$0) },
            json: .random(&generator), collections: generator.optional { .random(&$0) })
    }
}
