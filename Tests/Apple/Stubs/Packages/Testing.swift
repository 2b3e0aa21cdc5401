// swift-format-ignore-file
// Swift Testing comes with Xcode.
public struct SourceLocation: Sendable {
    public init(fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column) {}
}
public struct Comment: Sendable, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
}
public struct Issue: Sendable {
    @discardableResult public static func record(_ comment: Comment? = nil, sourceLocation: SourceLocation = SourceLocation()) -> Self { Issue() }
}
public protocol CustomTestStringConvertible {
    var testDescription: String { get }
}
@freestanding(expression) public macro _sourceLocation() -> SourceLocation =
    #externalMacro(module: "TestingMacros", type: "SourceLocationMacro")
