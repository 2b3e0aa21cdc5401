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
        .cookies, .engineIOPacket, .envelope, .inspector, .json, .payloadCoder, .pollingPayload, .request,
        .socketIODecoder,
        .socketIOPacket, .socketIOSession, .webSocketFrames, .webSocketHandshake, .webSocketInflate,
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
