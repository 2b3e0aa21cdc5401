internal import LinkspanNetwork
internal import TestSupport

extension PythonServer {
    /// The trust of its clients.
    var tls: TLSPolicy { self.authority.map { TLSPolicy(roots: .file($0)) } ?? .system }
}
