/// Options of an ``InspectorService``.
public struct InspectorOptions: Sendable, Hashable {
    /// The port at `127.0.0.1`; 0, the default, for any that is free.
    public var port: Int
    /// Whether the page can provoke faults, such as a dropped link (default false).
    public var allowsFaults: Bool
    /// Whether the beginnings of payloads are shown, without the values of names such as `token` (default false).
    public var showsPayloads: Bool
    /// A token that programs show in the field `Authorization: Bearer`; it stays valid while the service runs (default
    /// nil).
    public var token: String?

    /// Makes options; the defaults are those named at the properties.
    public init(
        port: Int = 0, allowsFaults: Bool = false, showsPayloads: Bool = false, token: String? = nil
    ) {
        self.port = port
        self.allowsFaults = allowsFaults
        self.showsPayloads = showsPayloads
        self.token = token
    }
}
