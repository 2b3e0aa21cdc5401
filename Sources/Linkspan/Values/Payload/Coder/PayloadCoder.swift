/// Rules by which `Codable` values are written as JSON and read from it.
///
/// ```swift
/// let coder = PayloadCoder(dates: .millisecondsSince1970, usesSnakeCase: true)
/// let moved = Event<Move, NoReply>("move", coder: coder)
/// try connection.send(moved, move)
/// let answer = try message.payload.decode(Move.self, coder: coder)
/// ```
///
/// A value, made once and used everywhere. The default is ``standard``.
public struct PayloadCoder: Sendable {
    /// Kept behind one reference, because a coder is passed along with every value; nil for the standard, which then
    /// costs nothing where nothing is coded.
    private let ownRules: CodingRules?

    var rules: CodingRules { self.ownRules ?? .standard }

    /// Makes a coder.
    ///
    /// - Parameters:
    ///   - dates: the form of `Date`.
    ///   - usesSnakeCase: whether `sentAt` in a type is `sent_at` in the text; the keys of a `Dictionary` stay as they are.
    ///   - writesBase64: whether `Data` is a string in Base64 instead of a binary attachment with a placeholder in the text.
    ///   - nonConformingFloats: the strings for infinity and NaN, which JSON cannot express; nil to refuse them.
    ///   - userInfo: values for `init(from:)` and `encode(to:)` of your types.
    public init(
        dates: Dates = .iso8601, usesSnakeCase: Bool = false, writesBase64: Bool = false,
        nonConformingFloats: (positiveInfinity: String, negativeInfinity: String, nan: String)? = nil,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        self.ownRules = CodingRules(
            dates: dates, usesSnakeCase: usesSnakeCase, writesBase64: writesBase64, floats: nonConformingFloats,
            userInfo: userInfo)
    }

    /// ISO 8601 dates, unchanged keys, `Data` as attachments.
    public static var standard: Self { Self(ownRules: nil) }

    private init(ownRules: CodingRules?) { self.ownRules = ownRules }

    /// The form of `Date`.
    public enum Dates: Sendable {
        /// `"2026-01-31T12:00:00.000Z"`: as JavaScript writes a date.
        ///
        /// Read with any number of digits behind the second or none, with an offset, `Z` or neither, which means UTC,
        /// and without a time of day.
        case iso8601
        /// The number of seconds since 1970.
        case secondsSince1970
        /// The number of milliseconds since 1970: `Date.now()` of JavaScript.
        case millisecondsSince1970
        /// The type's own form: the number of seconds since 2001.
        case deferred
        /// A form of your own; dates are given and expected as seconds since 1970.
        case custom(
            encode: @Sendable (_ seconds: Double, _ encoder: any Encoder) throws -> Void,
            decode: @Sendable (_ decoder: any Decoder) throws -> Double)
    }

}

/// The settings of a ``PayloadCoder``.
final class CodingRules: Sendable {
    static let standard = CodingRules(
        dates: .iso8601, usesSnakeCase: false, writesBase64: false, floats: nil, userInfo: [:])

    let dates: PayloadCoder.Dates
    let usesSnakeCase: Bool
    let writesBase64: Bool
    let floats: (positiveInfinity: String, negativeInfinity: String, nan: String)?
    let userInfo: [CodingUserInfoKey: any Sendable]

    init(
        dates: PayloadCoder.Dates, usesSnakeCase: Bool, writesBase64: Bool,
        floats: (positiveInfinity: String, negativeInfinity: String, nan: String)?,
        userInfo: [CodingUserInfoKey: any Sendable]
    ) {
        self.dates = dates
        self.usesSnakeCase = usesSnakeCase
        self.writesBase64 = writesBase64
        self.floats = floats
        self.userInfo = userInfo
    }

    /// The key in the text for a key of a type.
    func written(_ key: String) -> String { self.usesSnakeCase ? SnakeCase.written(key) : key }

    /// The key of a type for a key in the text.
    func read(_ key: String) -> String { self.usesSnakeCase ? SnakeCase.read(key) : key }
}

/// A step of a coding path that is not a key of the app's.
package enum PayloadKey: CodingKey {
    case name(String)
    case index(Int)

    static let `super` = Self.name("super")

    package init(stringValue: String) { self = .name(stringValue) }

    package init(intValue: Int) { self = .index(intValue) }

    package var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): "Index \(index)"
        }
    }

    package var intValue: Int? { if case .index(let index) = self { index } else { nil } }
}
