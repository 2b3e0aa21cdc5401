extension Catalog {
    /// A catalog with the network transports, `socketio` and `websocket`.
    ///
    /// Add services and other transports to a copy.
    public static var standard: Self {
        var catalog = Self()
        catalog.add(.socketIO)
        catalog.add(.webSocket)
        return catalog
    }
}
