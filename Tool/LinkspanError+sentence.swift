import Linkspan

extension LinkspanError {
    /// The reason behind a wait that was too long, if there is one.
    var innermost: LinkspanError {
        guard self.code == .timedOut, let cause = self.cause as? LinkspanError else { return self }
        return cause
    }

    /// Why a connection to a URL could not be made, and what to do.
    func sentence(for url: ConnectionURL) -> String {
        "cannot connect to \(url): \(self.message); `linkspan doctor \(url)` finds the cause"
    }
}
