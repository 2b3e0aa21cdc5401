// swift-format-ignore-file
// swift-argument-parser: for the command that explains a configuration, and what the app shares with the chat in the terminal.
public struct ExitCode: Error, RawRepresentable, Sendable, Hashable {
    public var rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }
    public init(_ code: Int32) { self.rawValue = code }
    public static let success = ExitCode(0)
    public static let failure = ExitCode(1)
    public static let validationFailure = ExitCode(64)
}
public protocol ParsableArguments {
    init()
}
public protocol ParsableCommand: ParsableArguments {
    static var configuration: CommandConfiguration { get }
    mutating func run() throws
}
extension ParsableCommand {
    public static var configuration: CommandConfiguration { CommandConfiguration() }
    public mutating func run() throws {}
}
public struct CommandConfiguration: Sendable {
    public init(
        commandName: String? = nil, abstract: String = "", discussion: String = "",
        subcommands: [any ParsableCommand.Type] = []
    ) {}
}
public struct ArgumentHelp: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
}
@propertyWrapper
public struct OptionGroup<Value: ParsableArguments> {
    public var wrappedValue: Value
    public init() { self.wrappedValue = Value() }
}
@propertyWrapper
public struct Flag<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value, help: ArgumentHelp? = nil) { self.wrappedValue = wrappedValue }
}
@propertyWrapper
public struct Argument<Value> {
    public var wrappedValue: Value { fatalError() }
    public init(help: ArgumentHelp? = nil) where Value == String {}
}
