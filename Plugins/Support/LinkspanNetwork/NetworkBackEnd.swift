internal import Linkspan

/// The library under the byte streams of a transport or of the development server.
///
/// The package's traits decide which ones are built: `LWS` and `NIO`. On Linux it is libwebsockets unless other traits
/// are chosen, elsewhere SwiftNIO.
public struct NetworkBackEnd: RawRepresentable, Sendable, Hashable {
    /// The name, as in a configuration file.
    public var rawValue: String

    /// Makes a back end from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// libwebsockets, with OpenSSL; trait `LWS`.
    public static let libwebsockets = Self(rawValue: "libwebsockets")
    /// SwiftNIO, with BoringSSL; trait `NIO`.
    public static let nio = Self(rawValue: "nio")

    /// The back end that is used unless another is named: libwebsockets on Linux, SwiftNIO elsewhere, or the one that is
    /// built.
    public static var standard: Self {
        #if LWS && (os(Linux) || !NIO)
        .libwebsockets
        #else
        .nio
        #endif
    }

    /// Every back end that is built into this program.
    package static var builtIn: [Self] { [Self.libwebsockets, .nio].filter(\.isBuiltIn) }

    private var isBuiltIn: Bool {
        switch self {
        #if LWS
        case .libwebsockets: true
        #endif
        #if NIO
        case .nio: true
        #endif
        default: false
        }
    }

    /// The package's trait that builds it, nil for an unknown name.
    package var trait: String? { [.libwebsockets: "LWS", .nio: "NIO"][self] }

    /// The reason it cannot be used; nil when it is built in.
    public var absence: String? {
        if self.isBuiltIn { return nil }
        guard let trait = self.trait else { return "there is no back end \(self.rawValue)" }
        return "the back end \(self.rawValue) is not built in: switch the trait \(trait) of the package linkspan on"
    }

    /// The option of a configuration that names one.
    static let option = PluginOption(
        "network", .choice([Self.libwebsockets.rawValue, Self.nio.rawValue]), fallback: Self.standard.rawValue,
        "The library that carries bytes; each is built by a trait of the package, LWS and NIO.")
}

extension NetworkBackEnd: CustomStringConvertible {
    /// The name.
    public var description: String { self.rawValue }
}
