internal import Linkspan

/// The reason codes of MQTT 5.0 (section 2.4), and the return codes of 3.1.1, as errors.
enum MQTTReason {
    /// The error that a code means; nil for a success.
    static func error(_ code: UInt8, isV5: Bool, of what: String, _ text: String?) -> LinkspanError? {
        let returns: [UInt8] = [0x00, 0x84, 0x85, 0x88, 0x86, 0x87]
        let reason = isV5 ? code : Int(code) < returns.count ? returns[Int(code)] : 0xFF
        guard reason >= 0x80 else { return nil }
        let (kind, name) = Self.meaning(reason)
        let said = text.map { ": \(ForeignText.line($0))" } ?? ""
        return LinkspanError(kind, "the broker refuses \(what): \(name) (code \(code))\(said)")
    }

    private static func meaning(_ reason: UInt8) -> (LinkspanError.Code, String) {
        switch reason {
        // Neither tells a reason, so the next attempt may succeed.
        case 0x80, 0x83: (.connectionLost, "it gives no reason")
        case 0x81, 0x82: (.protocolViolation, "a malformed packet")
        case 0x84: (.refused, "it does not speak this version of MQTT")
        case 0x85: (.refused, "it does not allow the client identifier")
        case 0x86: (.credentialsRefused, "wrong user name or password")
        case 0x87: (.credentialsRefused, "not authorized")
        case 0x88, 0x8B, 0x9C, 0x9D: (.serverUnavailable, "it cannot serve now, or another server is to be used")
        case 0x89, 0x93, 0x96, 0x97, 0x9F, 0xA0: (.serverUnavailable, "it is busy, or a quota is used up")
        case 0x8A: (.refused, "the client is banned")
        case 0x8C: (.credentialsRefused, "wrong authentication method")
        case 0x8D: (.heartbeatMissed, "no heartbeat in time")
        case 0x8E: (.closedByServer, "another client has taken the session over")
        case 0x8F, 0x90: (.messageRefused, "it does not allow the topic")
        case 0x95, 0x99: (.messageRefused, "the packet is too large, or its content has a wrong format")
        case 0x9A, 0x9B, 0x9E, 0xA1, 0xA2: (.refused, "it does not offer this")
        default: (.refused, "an unknown reason")
        }
    }
}
