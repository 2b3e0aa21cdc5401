package import Linkspan

// How a transport without a way of its own shows renewed credentials to a server: by an event that the server knows.

extension Link {
    /// Sends the auth payload of renewed credentials as an event.
    ///
    /// - Returns: whether it is on its way; false without an event or an auth payload.
    package func sendRenewal(_ credentials: Credentials, by event: String?) -> Bool {
        guard let event, let auth = credentials.auth else { return false }
        switch self.send(OutboundMessage(event: event, payload: auth)) {
        case .accepted, .acceptedAndFull: return true
        case .refused, .rejected: return false
        }
    }
}
