internal import LinkspanNetwork

/// What the command line asks for.
struct Options: Sendable {
    /// What is wrong with the command line.
    struct Failure: Error {
        let message: String
    }

    var host = ""
    var port = 0
    /// A file with the authority to trust; the server is then spoken to over TLS.
    var authority: String?
    /// How many cases run at a time.
    var parallel = 1
    /// The name under which the results are reported.
    var agent = "linkspan"

    /// The library that carries bytes.
    var network = NetworkBackEnd.standard

    init(_ arguments: [String]) throws {
        var arguments = arguments[...]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--ca": self.authority = try Self.value(of: argument, &arguments)
            case "--agent": self.agent = try Self.value(of: argument, &arguments)
            case "--network": self.network = NetworkBackEnd(rawValue: try Self.value(of: argument, &arguments))
            case "--parallel": self.parallel = try Self.number(Self.value(of: argument, &arguments))
            default: try self.setServer(argument)
            }
        }
        guard self.port > 0, self.parallel > 0 else { throw Failure(message: "no server, or nothing to do at a time") }
    }

    private mutating func setServer(_ text: String) throws {
        let parts = text.split(separator: ":")
        guard parts.count == 2 else { throw Failure(message: "'\(text)' is not host:port") }
        self.host = String(parts[0])
        self.port = try Self.number(String(parts[1]))
    }

    private static func value(of name: String, _ arguments: inout ArraySlice<String>) throws -> String {
        guard let value = arguments.popFirst() else { throw Failure(message: "\(name) lacks its value") }
        return value
    }

    private static func number(_ text: String) throws -> Int {
        guard let number = Int(text) else { throw Failure(message: "'\(text)' is not a number") }
        return number
    }
}
