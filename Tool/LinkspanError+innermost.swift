import Linkspan

extension LinkspanError {
    /// The reason behind a wait that was too long, if there is one.
    var innermost: LinkspanError {
        guard self.code == .timedOut, let cause = self.cause as? LinkspanError else { return self }
        return cause
    }
}
