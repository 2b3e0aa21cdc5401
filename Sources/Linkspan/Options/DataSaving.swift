/// When the connections of a ``ConnectionManager`` save data, by what a source of the network path reports.
///
/// While they do:
///
/// - a send with a key under which it replaces another waits up to a second for a newer one, or until the next message that
///   is not volatile, which leaves behind it;
/// - no ``ConnectionOptions/probeEvent`` is sent;
/// - a raw WebSocket pings after four times its interval, and so notices later that its server has vanished. The interval of
///   Socket.IO is the server's, and stays.
///
/// Nothing else waits.
public enum DataSaving: String, Sendable, CaseIterable {
    /// Never.
    case never
    /// On a constrained path: the user has asked the system to save data.
    case constrained
    /// On an expensive path, too: it costs the user money, as a mobile network may.
    case expensive
}
