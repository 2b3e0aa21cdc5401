#if LWS
internal import LinkspanNetwork

extension HTTPProxy {
    /// The proxy in the form that the library takes, with an address in place of its name.
    func text(at address: String) -> String {
        let place = NumericAddress.isIPv6(address) ? "[\(address)]" : address
        return "\(self.credentials.map { "\($0)@" } ?? "")\(place):\(self.port)"
    }
}
#endif
