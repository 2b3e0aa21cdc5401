/// A part of the SDK that reads bytes from outside, and what has to hold whatever the bytes are.
///
/// To add one: write its oracle beside the others, list it in ``all``, add its name to `Package.swift` and an executable
/// to `Targets`, and give it seeds and a section of `dictionaries`.
public struct FuzzTarget: Sendable, CustomStringConvertible {
    /// The name, as `make fuzz TARGET=` takes it.
    public let name: String
    /// The longest input that is worth trying.
    public let maximumLength: Int
    /// Feeds an input to the code, and throws when something that has to hold does not.
    let check: @Sendable ([UInt8]) throws(Violation) -> Void

    /// The name.
    public var description: String { self.name }

    /// Checks an input for the fuzzer, which learns of a violation by the end of the process.
    public func run(_ input: UnsafeBufferPointer<UInt8>) -> CInt {
        do throws(Violation) {
            try self.check(Array(input))
        } catch {
            fatalError("\(self.name): \(error.message)")
        }
        return 0
    }
}

extension FuzzTarget {
    /// All of them.
    public static let all: [Self] = [
        .cookies, .engineIOPacket, .envelope, .inspector, .json, .mqtt, .nats, .payloadCoder, .pollingPayload, .request,
        .socketIODecoder, .socketIOPacket, .socketIOSession, .webSocketFrames, .webSocketHandshake, .webSocketInflate,
    ]
}

/// Something that has to hold, and did not.
struct Violation: Error {
    let message: String
}

/// Throws unless a condition holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(Violation) {
    guard condition else { throw Violation(message: message()) }
}

/// Takes an input apart.
///
/// The forms are chosen so that seeds can be written by hand: lines, or fields with a bar between.
enum FuzzInput {
    /// The lines of a script; the newline belongs to none.
    static func lines(_ input: [UInt8]) -> [ArraySlice<UInt8>] {
        input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
    }

    /// The fields of a record as text, as many as wanted; missing ones are empty.
    static func fields(_ input: [UInt8], _ count: Int) -> [String] {
        let parts = input.split(
            separator: UInt8(ascii: "|"), maxSplits: count - 1, omittingEmptySubsequences: false)
        return (0..<count).map { $0 < parts.count ? String(decoding: parts[$0], as: UTF8.self) : "" }
    }

    /// The text of bytes, for messages.
    static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    /// Whether bytes are UTF-8: transports check that first, so that parsers get no other text.
    static func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
        String(validating: Array(bytes), as: UTF8.self) != nil
    }
}
