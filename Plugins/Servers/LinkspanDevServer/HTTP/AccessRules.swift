internal import Linkspan
internal import LinkspanNetwork

/// Decides which web pages may talk to the server, and under which names it answers.
///
/// A browser lets every page send requests to any address, and says in `Origin` which page it was. An attacker whose
/// name resolves to the loopback address (DNS rebinding) has the same origin as the server; then `Host` is a name that
/// is not the server's. No script can set either field. Clients that are no browsers send no `Origin`.
struct AccessRules: Sendable {
    private let origins: Set<Origin>
    private let hosts: Set<String>

    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` for what is no origin or no name.
    init(_ configuration: DevServerConfiguration) throws(LinkspanError) {
        var (origins, hosts): (Set<Origin>, Set<String>) = ([], [])
        for text in configuration.allowedOrigins {
            guard let origin = Origin(text) else {
                throw LinkspanError(
                    .invalidConfiguration, "\"\(text)\" is not an origin; write it as https://app.example")
            }
            origins.insert(origin)
        }
        for text in configuration.allowedHosts {
            guard let authority = Authority(text), authority.port == nil else {
                throw LinkspanError(
                    .invalidConfiguration, "\"\(text)\" is not a host name; write it as app.example, without a port")
            }
            hosts.insert(authority.host)
        }
        (self.origins, self.hosts) = (origins, hosts)
    }

    /// Checks a request.
    ///
    /// - Returns: the origin of the page that may read the answer; nil when the request comes from no page.
    func origin(of request: HTTPRequest) throws(HTTPRequestError) -> String? {
        let names = request.values("host")
        guard names.count == 1, let host = Authority(names[0]) else {
            throw HTTPRequestError(status: 400, message: "the request needs exactly one Host field")
        }
        // An address was not looked up, so that no name can have been bound to it.
        guard host.isNumeric || host.isLoopback || self.hosts.contains(host.host) else {
            throw HTTPRequestError(
                status: 403, message: "the host name of this request is not among the allowed hosts of the server")
        }
        guard let text = request.values("origin").first else {
            // A page that does without CORS could read nothing, but would take a session.
            guard request.values("sec-fetch-site").contains("cross-site") else { return nil }
            throw Self.foreign
        }
        guard request.values("origin").count == 1, let origin = Origin(text),
            origin.isLoopback || origin.isServed(by: host) || self.origins.contains(origin)
        else { throw Self.foreign }
        return text
    }

    private static let foreign = HTTPRequestError(
        status: 403, message: "the origin of this page is not among the allowed origins of the server")
}
