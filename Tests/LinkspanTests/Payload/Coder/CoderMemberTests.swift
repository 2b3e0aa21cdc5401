internal import Foundation
internal import Linkspan
internal import Testing

@Suite("Payload coder: members and limits")
struct CoderMemberTests {
    private static func text(_ payload: Payload) -> String { String(decoding: payload.elements, as: UTF8.self) }

    private static func decode<Value: Decodable>(
        _ type: Value.Type, _ json: String, _ coder: PayloadCoder = .standard
    ) throws -> Value {
        try Payload(checking: Array(json.utf8)[...]).decode(type, coder: coder)
    }

    private struct Pair: Codable, Equatable {
        var a: Int
        var b: Int?
    }

    @Test(arguments: [
        #"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, #"{"\u0061":1,"b":2,"a":3}"#,
        #"{"c":[{"a":9}],"b":2,"d":{"a":8},"a":1,"a":7}"#,
        #" { "a" : 1 , "b" : 2 } "#, #"{"a":1.0,"b":2e0}"#,
    ])
    func `members are found in any order, escaped, among others, the first of repeated ones`(json: String) throws {
        #expect(try Self.decode(Pair.self, json) == Pair(a: 1, b: 2))
        let payload = try Payload(checking: Array(json.utf8)[...])
        #expect(try FoundationCoder.standard.decode(Pair.self, from: payload) == Pair(a: 1, b: 2))
    }

    @Test
    func `a value that is the second argument is decoded by itself`() throws {
        let payload = try Payload(1, Pair(a: 2, b: nil), [Pair(a: 3, b: 4)])
        #expect(try payload.decode(Pair.self, at: 1) == Pair(a: 2, b: nil))
        #expect(try payload.decode([Pair].self, at: 2) == [Pair(a: 3, b: 4)])
        #expect(throws: LinkspanError.self) { try payload.decode([Pair].self, at: 3) }
    }

    private struct ElementCount: Decodable {
        var told: Int?

        init(from decoder: any Decoder) throws { self.told = try decoder.unkeyedContainer().count }
    }

    @Test(arguments: [("[]", 0), ("[7]", 1), (#"[1,[2,3],{"a":[4,5]}]"#, 3)])
    func `an array says how many elements it has`(json: String, count: Int) throws {
        #expect(try Self.decode(ElementCount.self, json).told == count)
    }

    /// Fails to write one of its members, and goes on.
    private struct Careless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: PayloadTestKey.self)
            try? container.encode([Double.nan], forKey: PayloadTestKey("a"))
            try container.encode(Data([1]), forKey: PayloadTestKey("b"))
        }
    }

    @Test
    func `of a member that cannot be written nothing stays`() throws {
        let payload = try Payload(["x": Careless()])
        #expect(Self.text(payload) == #"{"x":{"b":{"_placeholder":true,"num":0}}}"#)
    }

    private struct Many: Codable {
        var repeated: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: PayloadTestKey.self)
            for round in 0..<self.repeated {
                for number in 0..<40 {
                    try container.encode(round * 100 + number, forKey: PayloadTestKey("key\(number)"))
                }
            }
        }
    }

    @Test
    func `of keys that are written twice the latter count, among few and among many`() throws {
        let payload = try Payload(Many(repeated: 3))
        let members = try payload.decode([String: Int].self)
        #expect(members.count == 40 && members["key0"] == 200 && members["key39"] == 239)
        #expect(Self.text(payload).split(separator: ",").count == 40)
    }

    /// A value whose encoding is a test's own.
    private struct Written: Encodable {
        let write: (any Encoder) throws -> Void

        func encode(to encoder: any Encoder) throws { try self.write(encoder) }
    }

    @Test
    func `a key that is written again at once counts once, whatever the key`() throws {
        for number in 0..<1_000 {
            let key = PayloadTestKey("key\(number)")
            let payload = try Payload(
                Written { encoder in
                    var container = encoder.container(keyedBy: PayloadTestKey.self)
                    try container.encode(0, forKey: PayloadTestKey("z"))
                    try container.encode([1], forKey: key)
                    try container.encode(2, forKey: key)
                })
            #expect(Self.text(payload) == #"{"z":0,"\#(key.stringValue)":2}"#)
        }
    }

    @Test
    func `a container goes on with a value that its encoder has written as a whole`() throws {
        let object = Written { encoder in
            var whole = encoder.singleValueContainer()
            try whole.encode(Pair(a: 1, b: 2))
            var container = encoder.container(keyedBy: PayloadTestKey.self)
            try container.encode(3, forKey: PayloadTestKey("c"))
            try container.encode(4, forKey: PayloadTestKey("a"))
        }
        let array = Written { encoder in
            var whole = encoder.singleValueContainer()
            try whole.encode([1, 2])
            var container = encoder.unkeyedContainer()
            #expect(container.count == 2)
            try container.encode(3)
        }
        #expect(Self.text(try Payload(["x": object])) == #"{"x":{"b":2,"c":3,"a":4}}"#)
        #expect(Self.text(try Payload([array])) == "[[1,2,3]]")
    }

    @Test
    func `a nested container goes on with a member that is there, and those behind it stay`() throws {
        let payload = try Payload(
            Written { encoder in
                var container = encoder.container(keyedBy: PayloadTestKey.self)
                try container.encode(["x": 1], forKey: PayloadTestKey("a"))
                var second = container.nestedUnkeyedContainer(forKey: PayloadTestKey("b"))
                var third = container.nestedContainer(keyedBy: PayloadTestKey.self, forKey: PayloadTestKey("c"))
                var first = container.nestedContainer(keyedBy: PayloadTestKey.self, forKey: PayloadTestKey("a"))
                try third.encode("z", forKey: PayloadTestKey("d"))
                try first.encode(2, forKey: PayloadTestKey("y"))
                try second.encode(3)
                var again = container.nestedUnkeyedContainer(forKey: PayloadTestKey("b"))
                try again.encode(4)
            })
        #expect(Self.text(payload) == #"{"a":{"x":1,"y":2},"b":[3,4],"c":{"d":"z"}}"#)
    }

    @Test
    func `a repeated key takes a nested container with it, and those behind it stay`() throws {
        let payload = try Payload(
            Written { encoder in
                var container = encoder.container(keyedBy: PayloadTestKey.self)
                var first = container.nestedUnkeyedContainer(forKey: PayloadTestKey("a"))
                var second = container.nestedUnkeyedContainer(forKey: PayloadTestKey("b"))
                try container.encode(3, forKey: PayloadTestKey("a"))
                try first.encode(1)
                try second.encode(2)
            })
        #expect(Self.text(payload) == #"{"b":[2],"a":3}"#)
    }

    private struct Deep: Encodable {
        let levels: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if self.levels > 1 { try container.encode(Deep(levels: self.levels - 1)) }
        }
    }

    @Test
    func `levels around a nested container count as those inside`() throws {
        func payload(_ levels: Int) throws -> Payload {
            let nesting = Written { encoder in
                var container = encoder.container(keyedBy: PayloadTestKey.self)
                var nested = container.nestedUnkeyedContainer(forKey: PayloadTestKey("a"))
                var inner = nested.nestedUnkeyedContainer()
                try inner.encode(Deep(levels: levels - 6))
            }
            return try Payload([[[nesting]]])
        }
        #expect(try payload(64).values.count == 1)
        #expect(throws: LinkspanError.self) { try payload(65) }
    }

    private struct Nesting: Encodable {
        let witness: EncodesNothing

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: PayloadTestKey.self)
            var nested = container.nestedUnkeyedContainer(forKey: PayloadTestKey("a", self.witness))
            try nested.encode(self.witness)
            try self.witness.encode(to: container.superEncoder())
        }
    }

    @Test
    func `a type that encodes nothing is an empty object, and an error at the top`() throws {
        let payload = try Payload(Nesting(witness: EncodesNothing()))
        #expect(Self.text(payload) == #"{"a":[{}],"super":{}}"#)
        #expect(throws: LinkspanError.self) { try Payload(EncodesNothing()) }
    }

    @Test
    func `nested containers keep nothing alive when the value is encoded`() throws {
        weak var kept: EncodesNothing?
        do {
            let witness = EncodesNothing()
            kept = witness
            _ = try Payload(Nesting(witness: witness))
        }
        #expect(kept == nil)
    }

    @Test
    func `JSON text is put in place unchanged inside a value too`() throws {
        #expect(Self.text(try Payload(["a": PayloadValue(json: #"{"n": 1e2}"#)])) == #"{"a":{"n": 1e2}}"#)
    }

    // MARK: Limits

    private final class Chain: Codable {
        var next: Chain?

        init(length: Int) { self.next = length > 1 ? Chain(length: length - 1) : nil }
    }

    @Test(arguments: [64, 65, 20_000])
    func `64 levels are written and read, 65 are an error and no overflow of the stack`(levels: Int) throws {
        var chain = Chain(length: 1)
        for _ in 1..<levels {
            let outer = Chain(length: 1)
            outer.next = chain
            chain = outer
        }
        if levels == 64 {
            let payload = try Payload(chain)
            var count = 0
            var last: Chain? = try payload.decode(Chain.self)
            while let link = last { (last, count) = (link.next, count + 1) }
            #expect(count == 64)
        } else {
            let error = #expect(throws: LinkspanError.self) { try Payload(chain) }
            #expect(error?.code == .encodingFailed)
            let opening = String(repeating: #"{"next":"#, count: levels)
            let text = Array("\(opening)null\(String(repeating: "}", count: levels))".utf8)
            #expect(throws: LinkspanError.self) { try Payload(trustedElements: text[...]).decode(Chain.self) }
        }
        // A class of 20,000 links would be freed by recursion.
        while let next = chain.next { (chain.next, chain) = (nil, next) }
    }

    private struct Misused: Encodable {
        var case_: Int

        func encode(to encoder: any Encoder) throws {
            switch self.case_ {
            case 0:
                _ = encoder.container(keyedBy: PayloadTestKey.self)
                _ = encoder.unkeyedContainer()
            case 1:
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            case 2:
                var container = encoder.singleValueContainer()
                try container.encode(1)
                _ = encoder.container(keyedBy: PayloadTestKey.self)
            default: break
            }
        }
    }

    @Test(arguments: 0..<4)
    func `a type that breaks the rules of containers is an error, where Foundation ends the process`(case_: Int) throws
    {
        #expect(throws: LinkspanError.self) { try Payload(Misused(case_: case_)) }
        if case_ < 3 { #expect(throws: LinkspanError.self) { try Payload([Misused(case_: case_)]) } }
    }
}

private final class EncodesNothing: Encodable, Sendable {
    func encode(to encoder: any Encoder) throws {}
}

private struct PayloadTestKey: CodingKey {
    let stringValue: String
    let witness: EncodesNothing?
    var intValue: Int? { nil }

    init(_ name: String, _ witness: EncodesNothing? = nil) {
        self.stringValue = name
        self.witness = witness
    }

    init(stringValue: String) { self.init(stringValue) }

    init?(intValue: Int) { nil }
}
