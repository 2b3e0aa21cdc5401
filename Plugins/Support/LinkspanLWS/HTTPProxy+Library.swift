internal import LinkspanNetwork

extension HTTPProxy {
    /// How the library wants a proxy written, with its name replaced by an address.
    func text(at address: String) -> String {
        let place = NumericAddress.isIPv6(address) ? "[\(address)]" : address
        return "\(self.credentials.map { "\($0)@" } ?? "")\(place):\(self.port)"
    }
}
