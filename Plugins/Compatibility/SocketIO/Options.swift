public import Foundation
public import LinkspanSocketIO
public import Starscream

#if canImport(FoundationNetworking)
// Where it is a module of its own, a program that imports Foundation and this one finds cookies and delegates.
@_exported public import FoundationNetworking
#endif

/// The version of the server.
public enum SocketIOVersion: Int {
    /// Servers of 2.x.
    case two = 2
    /// Servers of 3.x and 4.x.
    case three = 3
}

/// An option of a manager.
public enum SocketIOClientOption: CustomStringConvertible, Equatable {
    /// Compresses messages over WebSocket, if the server supports it.
    case compress
    /// Query items of each request.
    case connectParams([String: Any])
    /// Cookies of each request.
    case cookies([HTTPCookie])
    /// Header fields of each request, without `Host` and those of its body, which it writes itself.
    case extraHeaders([String: String])
    /// Nothing: every attempt is made with the options of its moment.
    case forceNew(Bool)
    /// Uses long polling alone.
    case forcePolling(Bool)
    /// Uses WebSockets alone.
    case forceWebsockets(Bool)
    /// Refuses to connect unless ``linkspan(_:)`` names the proxy: none is taken from the system.
    case enableSOCKSProxy(Bool)
    /// The serial queue on which handlers are called; the main queue without it.
    case handleQueue(DispatchQueue)
    /// Logs what happens.
    case log(Bool)
    /// Logs there, for all managers of the process.
    case logger(SocketLogger)
    /// The path of the server, `/socket.io/` without it.
    case path(String)
    /// Reconnects a socket whose link was lost; true without it.
    case reconnects(Bool)
    /// Attempts in a row before it gives up; -1 for no limit.
    case reconnectAttempts(Int)
    /// The shortest wait before the second attempt and later ones, in seconds; 10 without it.
    case reconnectWait(Int)
    /// The longest wait, in seconds; 30 without it.
    case reconnectWaitMax(Int)
    /// The part of a wait by which chance may lengthen it; 0.5 without it.
    case randomizationFactor(Double)
    /// Uses TLS, also for a URL of `http`.
    case secure(Bool)
    /// The rules for verifying servers, as `FoundationSecurity` of the module `Starscream` has them.
    case security(CertificatePinning)
    /// Is logged and changes nothing: servers are always verified. Trust your certificate by ``security(_:)``.
    case selfSigned(Bool)
    /// Refuses to connect: say by ``security(_:)`` or ``linkspan(_:)`` what is trusted.
    case sessionDelegate(URLSessionDelegate)
    /// Nothing: there is one engine.
    case useCustomEngine(Bool)
    /// The version of the server; 3 and 4 without it.
    case version(SocketIOVersion)

    // Not a case, so that a program may switch over all options.
    /// Changes what the other options have made: proxy, TLS, client certificate, limits.
    public static func linkspan(_ change: @escaping @Sendable (inout SocketIOConfiguration) -> Void) -> Self {
        .sessionDelegate(Change(apply: change))
    }

    /// The change of the option ``linkspan(_:)``, which takes the place of a delegate.
    final class Change: NSObject, URLSessionDelegate {
        let apply: @Sendable (inout SocketIOConfiguration) -> Void

        init(apply: @escaping @Sendable (inout SocketIOConfiguration) -> Void) { self.apply = apply }
    }

    /// The name of the case.
    public var description: String { Mirror(reflecting: self).children.first?.label ?? "compress" }

    /// Two options are equal when they are of one case, with the same value or another.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.description == rhs.description }

    /// The option of a name, when the value has its type.
    static func named(_ name: String, value: Any) -> Self? {
        func take<Value>(_ make: @escaping (Value) -> Self) -> Self? { (value as? Value).map(make) }
        let options: [Self?] = [
            value as? Bool == true ? .compress : nil, take(Self.connectParams), take(Self.cookies),
            take(Self.extraHeaders), take(Self.forceNew), take(Self.forcePolling), take(Self.forceWebsockets),
            take(Self.enableSOCKSProxy), take(Self.handleQueue), take(Self.log), take(Self.logger), take(Self.path),
            take(Self.reconnects), take(Self.reconnectAttempts), take(Self.reconnectWait), take(Self.reconnectWaitMax),
            take(Self.randomizationFactor), take(Self.secure), take(Self.security), take(Self.selfSigned),
            take(Self.sessionDelegate), take(Self.version), take { .version(SocketIOVersion(rawValue: $0) ?? .three) },
        ]
        return options.lazy.compactMap(\.self).first { $0.description == name }
    }
}

/// The options of a manager.
public typealias SocketIOClientConfiguration = [SocketIOClientOption]

extension SocketIOClientConfiguration {
    /// Adds an option in place of the same one if there is one, or, unless `replace`, only if there is none.
    public mutating func insert(_ element: SocketIOClientOption, replacing replace: Bool = true) {
        guard let index = self.firstIndex(of: element) else { return self.append(element) }
        if replace { self[index] = element }
    }
}

/// A type that takes options.
public protocol ConfigSettable {
    /// Takes options.
    mutating func setConfigs(_ config: SocketIOClientConfiguration)
}
