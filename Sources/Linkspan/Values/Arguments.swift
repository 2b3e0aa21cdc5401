/// The value of an event with several arguments.
///
/// ```swift
/// extension Event where Value == Arguments<Int, Int>, Reply == NoReply {
///     static var move: Self { Event("move") }
/// }
/// ```
///
/// ```swift
/// try connection.send(.move, Arguments(10, 20))
/// for await position in try connection.values(.move) {
///     let (x, y) = try position.get().values
///     show("\(x), \(y)")
/// }
/// ```
///
/// Each travels as an argument of its own. Fewer arguments than the type has fail with code `decodingFailed`;
/// where more come, the rest is left out.
public struct Arguments<each Element: Sendable>: Sendable {
    /// The arguments.
    public let values: (repeat each Element)

    /// Makes a value of arguments.
    public init(_ values: repeat each Element) { self.values = (repeat each values) }
}

extension Arguments: Encodable where repeat each Element: Encodable {
    /// Writes the values as arguments at the top, as an array inside another value and for other coders.
    public func encode(to encoder: any Encoder) throws {
        if let place = encoder as? PayloadEncoder, place.isOutermost {
            return try place.writer.write(arguments: repeat each self.values)
        }
        var container = encoder.unkeyedContainer()
        for value in repeat each self.values { try container.encode(value) }
    }
}

extension Arguments: Decodable where repeat each Element: Decodable {
    /// Reads the arguments at the top, an array inside another value.
    public init(from decoder: any Decoder) throws {
        if let place = decoder as? PayloadDecoder, let list = try place.document.list(Self.self, at: place.index) {
            self = list
        } else {
            var container = try decoder.unkeyedContainer()
            self.values = (repeat try container.decode((each Element).self))
        }
    }
}

/// A value that becomes several arguments.
protocol ArgumentList {}

extension Arguments: ArgumentList {}
