// swift-format-ignore-file
// swift-argument-parser: for what the app shares with the chat in the terminal.
public struct ExitCode: Error, RawRepresentable, Sendable, Hashable {
    public var rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }
    public init(_ code: Int32) { self.rawValue = code }
    public static let success = ExitCode(0)
    public static let failure = ExitCode(1)
    public static let validationFailure = ExitCode(64)
}
