extension ConnectionStatus {
    /// The advice for credentials that the server refuses.
    var afterRefusal: String {
        switch self.facts.refusals {
        case 0:
            "They are fixed, so connect() would send the same again: connect with other credentials."
        case 1:
            "connect() asks the provider for new ones."
        default:
            "The server refused the credentials and the renewed ones, so they are not renewed automatically again. "
                + "Sign in again or correct the provider, then call connect(), which asks for a renewal."
        }
    }
}
