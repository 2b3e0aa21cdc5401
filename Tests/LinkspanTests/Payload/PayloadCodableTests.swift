internal import Linkspan
internal import Testing

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

@Suite("Payloads of Codable values")
struct PayloadCodableTests {
    private struct Photo: Codable, Equatable {
        var name: String
        var image: Data
        var thumbnails: [Data]
        var note: String?
    }

    private static func text(_ payload: Payload) -> String { String(decoding: payload.elements, as: UTF8.self) }

    @Test
    func `plain values are written as JSON, one behind another`() throws {
        let payload = try Payload("a\"b\n", -5, true, 1.5, ["x": 1], [Int]())
        #expect(Self.text(payload) == #""a\"b\n",-5,true,1.5,{"x":1},[]"#)
        #expect(payload.attachments.isEmpty)
    }

    @Test
    func `a value nested nowhere may be null`() throws {
        #expect(try Self.text(Payload(String?.none, 1)) == "null,1")
        #expect(try Payload(String?.none).decode(String?.self) == nil)
    }

    @Test
    func `data becomes attachments, wherever it is, and comes back`() throws {
        let photo = Photo(name: "é/", image: Data([1, 2]), thumbnails: [Data(), Data([3])], note: nil)
        let payload = try Payload(Data([9]), photo, "tail", Data([8]))
        #expect(payload.attachments.count == 5)
        #expect(try payload.decode(Data.self) == Data([9]))
        #expect(try payload.decode(Photo.self, at: 1) == photo)
        #expect(try payload.decode(String.self, at: 2) == "tail")
        #expect(try payload.decode(Data.self, at: 3) == Data([8]))
        #expect(try Payload(checking: payload.elements).values.count == 4, "what we write passes our own check")
    }

    @Test(arguments: [
        "", "plain", "\"\\/\u{08}\u{0C}\n\r\t\u{00}\u{1F}\u{7F}", "é😀\u{2028}\u{FFFD}",
        #"{"_placeholder":true,"num":0}"#,
        String(repeating: "x\"", count: 1000),
    ])
    func `strings survive, whatever is in them`(string: String) throws {
        let payload = try Payload(string, ["k": string])
        #expect(try payload.decode(String.self) == string)
        #expect(try payload.decode([String: String].self, at: 1) == ["k": string])
        #expect(payload[0]?.string == string)
        #expect(payload[1]?["k"]?.string == string)
    }

    @Test(arguments: [0, 1, 2, 9])
    func `a missing argument and a wrong shape are typed errors`(index: Int) throws {
        let payload = try Payload("a", [1], ["n": "x"])
        let error = #expect(throws: LinkspanError.self) { try payload.decode(Photo.self, at: index) }
        #expect(error?.code == .decodingFailed)
    }

    @Test(arguments: [
        #"{"_placeholder":true,"num":1}"#, #"{"_placeholder":true,"num":-1}"#, #"{"_placeholder":true,"num":"0"}"#,
        #"{"_placeholder":false,"num":0}"#, #""AQI=""#, "[1,2]", "null",
    ])
    func `data from a placeholder out of range is a typed error (CVE-2022-2421)`(json: String) throws {
        let payload = try Payload(checking: Array("\(json),[\(json)]".utf8)[...], attachments: [[1]])
        let error = #expect(throws: LinkspanError.self) { try payload.decode(Data.self) }
        #expect(error?.code == .decodingFailed)
        #expect(throws: LinkspanError.self) { try payload.decode([Data].self, at: 1) }
    }

    @Test
    func `a value that cannot be written is a typed error`() {
        let error = #expect(throws: LinkspanError.self) { try Payload(Double.nan) }
        #expect(error?.code == .encodingFailed)
    }

    @Test
    func `an unchecked deep value is refused before recursion`() throws {
        let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        let payload = Payload(trustedElements: Array(deep.utf8)[...])
        #expect(throws: LinkspanError.self) { try payload.decode([String].self) }
    }

    @Test
    func `JSON text is put in place unchanged`() throws {
        let payload = try Payload(PayloadValue(json: #" {"a": 1e2} "#), 2)
        #expect(payload[0]?["a"]?.double == 100)
        #expect(payload[1]?.int == 2)
        #expect(payload.values.count == 2)
        for bad in ["", "1,2", "{", "nope"] {
            #expect(throws: LinkspanError.self) { try PayloadValue(json: bad) }
        }
    }
}
