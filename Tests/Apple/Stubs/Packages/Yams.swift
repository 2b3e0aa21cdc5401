// swift-format-ignore-file
// Yams.
public enum Resolver { case basic, `default` }
public enum Constructor { case `default` }
public enum Parser {
    public enum Encoding { case utf8, utf16 }
}
public final class Tag {}
public struct Mark: CustomStringConvertible, Sendable {
    public let line: Int
    public let column: Int
    public var description: String { "" }
}
public enum YamlError: Error {
    public struct Context: Sendable {
        public let text: String
        public let mark: Mark
    }
    case no
    case memory
    case reader(problem: String, offset: Int?, value: Int32, yaml: String)
    case scanner(context: Context?, problem: String, _ mark: Mark, yaml: String)
    case parser(context: Context?, problem: String, _ mark: Mark, yaml: String)
    case composer(context: Context?, problem: String, _ mark: Mark, yaml: String)
    case duplicatedKeysInMapping(duplicates: [String], context: YamlError.Context)
    case dataCouldNotBeDecoded(encoding: Int)
    case writer(problem: String)
    case emitter(problem: String)
    case representer(problem: String)
}
public enum Node: Hashable, Sendable {
    case scalar(Scalar)
    case mapping(Mapping)
    case sequence(Sequence)
    case alias(Alias)

    public struct Scalar: Hashable, Sendable {
        public enum Style: Sendable { case any, plain, singleQuoted, doubleQuoted, literal, folded }
        public var string: String
        public var style: Style
        public var mark: Mark? { nil }
    }
    public struct Alias: Hashable, Sendable {}
    public struct Mapping: Hashable, RandomAccessCollection, Sendable {
        public var startIndex: Int { 0 }
        public var endIndex: Int { 0 }
        public subscript(index: Int) -> (key: Node, value: Node) { fatalError() }
        public var mark: Mark? { nil }
    }
    public struct Sequence: Hashable, RandomAccessCollection, Sendable {
        public var startIndex: Int { 0 }
        public var endIndex: Int { 0 }
        public subscript(index: Int) -> Node { fatalError() }
        public var mark: Mark? { nil }
    }
    public var scalar: Scalar? { nil }
    public var mapping: Mapping? { nil }
    public var sequence: Sequence? { nil }
    public var mark: Mark? { nil }
    public var string: String? { nil }
    public var null: Int? { nil }
}
public func compose(
    yaml: String, _ resolver: Resolver = .default, _ constructor: Constructor = .default, _ encoding: Parser.Encoding = .utf8
) throws -> Node? { nil }
