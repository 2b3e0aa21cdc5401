internal import Linkspan
internal import LinkspanNetwork

extension HTTPRequest {
    /// The request without its body, for the time that its client is connected.
    var withoutBody: Self {
        var request = self
        request.body = []
        return request
    }

    /// The request as the hub sees it.
    func linkRequest(auth: Payload?, path: String, _ context: ServerContext) -> LinkRequest? {
        guard let url = context.url(path: path) else { return nil }
        let ofTheProtocol: Set<String> = ["EIO", "transport", "sid", "t", "b64"]
        var credentials = Credentials()
        // In memory of their own: as a slice they would hold the whole message, or POST, that they came in.
        credentials.auth = auth.map { Payload(trustedElements: Array($0.elements)[...]) }
        credentials.headers = self.fields.map { Credentials.Field($0.name, Secret($0.value)) }
        credentials.query = self.query.filter { !ofTheProtocol.contains($0.name) }
            .map { Credentials.Field($0.name, Secret($0.value)) }
        return LinkRequest(url: url, credentials: credentials)
    }
}
