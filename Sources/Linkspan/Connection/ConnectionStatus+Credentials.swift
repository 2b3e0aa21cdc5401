extension ConnectionStatus {
    /// What to do when the server will not have the credentials.
    var afterRefusal: String {
        switch self.refusals {
        case 0:
            "There is no provider to renew them: connect with others, because connect() would show the same again."
        case 1:
            "The provider is asked for others when connect() is called."
        default:
            "The server refused the credentials, and then the renewed ones too, so they are not renewed again by "
                + "themselves. Sign in anew or mend the provider, then call connect(): it asks for a renewal once more."
        }
    }
}
