/// The interval of pings and the time limit for their answers.
public struct WebSocketKeepAlive: Sendable, Hashable {
    /// The interval between pings, four times as long while the connection saves data.
    ///
    /// Default 15 s.
    public var interval: Duration
    /// The time limit for the server's answer to a ping.
    ///
    /// Default 10 s.
    public var timeout: Duration

    /// Makes a keep-alive rule.
    ///
    /// A server that has vanished is noticed after at most `interval` + `timeout`. As long as bytes that were written
    /// before the ping leave, as over a slow line, another `timeout` begins.
    public init(interval: Duration = .seconds(15), timeout: Duration = .seconds(10)) {
        self.interval = interval
        self.timeout = timeout
    }
}
