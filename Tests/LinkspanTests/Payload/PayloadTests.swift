internal import LinkspanTesting
internal import Testing

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

@testable import Linkspan

private func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }
private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

@Suite("Payload")
struct PayloadTests {
    @Test
    func `text from outside is split into its arguments`() throws {
        let payload = try Payload(checking: bytes(#" 1 , "a,b" ,[1,2],{"x":","} "#))
        #expect(payload.values.map { text($0.text) } == ["1", #""a,b""#, "[1,2]", #"{"x":","}"#])
        #expect(payload[3]?["x"]?.string == ",")
        #expect(payload[4] == nil)
        #expect(payload[-1] == nil)
        #expect(payload[.max] == nil)
        #expect(payload.byteCount == 28)
    }

    @Test(arguments: ["", " ", "\n\t"])
    func `no arguments`(elements: String) throws {
        #expect(try Payload(checking: bytes(elements)).values.isEmpty)
        #expect(Payload.empty.isEmpty)
    }

    @Test(arguments: [
        ",", "1,", ",1", "1,,2", "1 2", "[1", "1]", "}", "a", "\"", "1,[[[", "01",
    ])
    func `text that is no list of values is refused`(elements: String) {
        #expect(throws: JSONScanError.self) { try Payload(scanning: bytes(elements)) }
        #expect(throws: LinkspanError.self) { try Payload(checking: bytes(elements)) }
    }

    @Test
    func `the limit of values counts all arguments together`() {
        let half = "[" + String(repeating: "0,", count: 60_000) + "0]"
        #expect(throws: Never.self) { try Payload(checking: bytes(half)) }
        let error = #expect(throws: JSONScanError.self) { try Payload(scanning: bytes(half + "," + half)) }
        #expect(error?.reason == .tooManyValues)
    }

    @Test
    func `arguments of a slice are slices of the same memory`() throws {
        let frame = bytes(#"xx"a",{"b":[7]}xx"#)
        let payload = try Payload(checking: frame.dropFirst(2).dropLast(2))
        let value = try #require(payload[1]?["b"]?[0])
        #expect(value.int == 7)
        #expect(value.text.startIndex == 12)
        let isInside = value.text.withUnsafeBytes { inner in
            frame.withUnsafeBytes { outer in inner.baseAddress == outer.baseAddress.map { $0 + 12 } }
        }
        #expect(isInside)
    }

    @Test(arguments: ["[", "{\"a\"", "1 2", ",", "\"", "x", "{\"a\":}"])
    func `hostile trusted text gives nothing rather than a trap`(elements: String) {
        let payload = Payload(trustedElements: bytes(elements))
        for value in payload.values {
            _ = value.int
            _ = value["a"]
            _ = value.elements
        }
        #expect(payload[5] == nil)
    }

    @Test
    func `a payload prints its sizes only`() throws {
        let payload = try Payload("hunter2", Data([1]))
        #expect(!"\(payload)".contains("hunter2"))
        #expect(try !"\(#require(payload[0]))".contains("hunter2"))
    }
}

@Suite("Payload values")
struct PayloadValueTests {
    private static func value(_ json: String) throws -> PayloadValue {
        try #require(try Payload(checking: bytes(json))[0])
    }

    @Test
    func `members are found by their key, escaped or not; of repeated ones the first counts`() throws {
        let object = try Self.value(#"{ "a" : 1, "b":{"a":2}, "a":3, "":4, "k\u00e9\n":5, "\u0078":6, "a\\b":7 }"#)
        #expect(object["a"]?.int == 1)
        #expect(object["b"]?["a"]?.int == 2)
        #expect(object[""]?.int == 4)
        #expect(object["ké\n"]?.int == 5)
        #expect(object["x"]?.int == 6)
        #expect(object[#"a\b"#]?.int == 7)
        #expect(object[#"a\\b"#] == nil)
        #expect(object[#"\u0078"#] == nil)
        #expect(object["c"] == nil)
    }

    @Test
    func `__proto__ is a key like any other (GHSA-gr94-w7qr-f4j3)`() throws {
        let object = try Self.value(#"{"__proto__":{"admin":true},"a":{}}"#)
        #expect(object["admin"] == nil)
        #expect(object["a"]?["admin"] == nil)
        #expect(object["__proto__"]?["admin"]?.bool == true)
    }

    @Test
    func `elements are found by their index`() throws {
        let array = try Self.value("[ 1 , [2] , {} ]")
        #expect(array[0]?.int == 1)
        #expect(array[1]?[0]?.int == 2)
        #expect(array[3] == nil)
        #expect(array[-1] == nil)
        #expect(array.elements?.count == 3)
        #expect(try Self.value("[]").elements?.isEmpty == true)
        #expect(try Self.value("[ ]").elements?.isEmpty == true)
        #expect(try Self.value("{}").elements == nil)
    }

    @Test
    func `another type gives nil`() throws {
        for json in ["null", "1", #""a""#, "[]", "{}", "true"] {
            let value = try Self.value(json)
            #expect((value.bool != nil) == (json == "true"))
            #expect((value.int != nil) == (json == "1"))
            #expect((value.double != nil) == (json == "1"))
            #expect((value.string != nil) == (json == #""a""#))
            #expect((value.elements != nil) == (json == "[]"))
            #expect(value.isNull == (json == "null"))
            #expect(value["a"] == nil)
            #expect(value[0] == nil)
            #expect(value.blob == nil)
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("18446744073709551616", nil), ("1.0", nil),
            ("1e2", nil),
            ("-12", -12),
        ] as [(String, Int?)])
    func `integers are exact to the last of 64 bits, and nil beyond`(json: String, expected: Int?) throws {
        #expect(try Self.value(json).int == expected)
    }

    @Test(arguments: [
        ("0", 0.0), ("-1.5e3", -1500), ("1e400", .infinity), ("0.1", 0.1),
        ("9007199254740993", 9_007_199_254_740_992),
    ])
    func `floating-point numbers`(json: String, expected: Double) throws {
        #expect(try Self.value(json).double == expected)
    }

    @Test(arguments: [
        (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{08}\u{0C}\n\r\t"),
        (#""\u00e9\u0000""#, "é\0"),
        (#""\ud83d\ude00""#, "😀"), (#""\ud83d""#, "\u{FFFD}"), (#""\ude00""#, "\u{FFFD}"),
        (#""\ud83dx""#, "\u{FFFD}x"),
        (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"), (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\ud83d\n""#, "\u{FFFD}\n"),
        (#""é\u2028😀""#, "é\u{2028}😀"),
    ])
    func `strings with their escapes resolved; a lone surrogate becomes U+FFFD`(json: String, expected: String) throws {
        #expect(try Self.value(json).string == expected)
    }

    @Test(
        arguments: [
            (#"{"_placeholder":true,"num":1}"#, [2]), (#"{"num":0,"_placeholder":true}"#, [1]),
            (#"{"_placeholder":true,"num":2}"#, nil), (#"{"_placeholder":true,"num":-1}"#, nil),
            (#"{"_placeholder":true,"num":"0"}"#, nil), (#"{"_placeholder":true}"#, nil),
            (#"{"_placeholder":false,"num":0}"#, nil), (#"{"_placeholder":"true","num":0}"#, nil), (#"{"num":0}"#, nil),
        ] as [(String, ArraySlice<UInt8>?)])
    func `a blob is found only by an index in range (CVE-2022-2421)`(json: String, expected: ArraySlice<UInt8>?) throws
    {
        let payload = try Payload(checking: bytes("[\(json)]"), attachments: [[1], [2]])
        #expect(payload[0]?[0]?.blob == expected)
    }
}

/// Received messages are slices of what was read; what is kept must not keep the read.
@Suite("Received bytes that are kept")
struct DetachedTests {
    /// A read of 256 KiB, and a small message in it.
    private static let read = Array(repeating: UInt8(ascii: "7"), count: 256 << 10)
    private static let small = Payload(trustedElements: Self.read[100..<120], attachments: [Self.read[200..<300]])

    private static func isInRead(_ bytes: ArraySlice<UInt8>) -> Bool {
        Self.read.withUnsafeBytes { read in
            bytes.withUnsafeBytes { bytes in
                guard let start = read.baseAddress, let address = bytes.baseAddress else { return false }
                return address >= start && address < start + read.count
            }
        }
    }

    private static func isInRead(_ payload: Payload) -> Bool {
        self.isInRead(payload.elements) || payload.attachments.contains { self.isInRead($0) }
    }

    @Test
    func `small ones are copied, large ones stay where they are`() {
        #expect(Self.isInRead(Self.small))
        #expect(!Self.isInRead(Self.small.detached()))
        #expect(Self.small.detached() == Self.small)
        #expect(Self.isInRead(Payload(trustedElements: Self.read[0..<140_000]).detached()))
        let message = Message(event: "event", payload: Self.small)
        #expect(!Self.isInRead(message.detached().payload))
    }

    @Test
    func `less than half of a message that is larger than a read is copied`() {
        for (count, isCopied) in [(256 << 10, false), (300_000, false), (300_002, true)] {
            let message = Array(repeating: UInt8(ascii: "7"), count: count)[...]
            let part = message.part(10..<150_010)
            let place = part.withUnsafeBytes { $0.baseAddress }
            #expect((place != message.withUnsafeBytes { $0.baseAddress.map { $0 + 10 } }) == isCopied)
            #expect(part == message[10..<150_010])
        }
    }

    @Test
    func `a message that waits in a sequence or for its first listener is a copy`() async throws {
        let harness = try Harness.connected()
        let stream = try harness.connection.events("queued")
        for event in ["queued", "held", "heard"] {
            if event == "heard" { try harness.connection.on(event) { #expect(Self.isInRead($0.payload)) } }
            harness.peers.first?.emit(event, Self.small)
        }
        harness.scheduler.settle()
        var iterator = stream.makeAsyncIterator()
        let queued = try #require(await iterator.next())
        #expect(!Self.isInRead(queued.message.payload))
        try harness.connection.on("held") { #expect(!Self.isInRead($0.payload)) }
        harness.scheduler.settle()
    }

    @Test
    func `a reply is a copy`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { $0.reply(Self.small) }
        try harness.perform(.request, "ask")
        harness.scheduler.settle()
        let reply = try #require(try harness.outcome("ask")?.get())
        #expect(reply == Self.small)
        #expect(!Self.isInRead(reply))
    }
}
