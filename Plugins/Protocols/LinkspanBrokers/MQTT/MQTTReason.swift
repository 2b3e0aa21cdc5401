internal import Linkspan

/// The reason codes of MQTT 5.0 (section 2.4), and the return codes of 3.1.1, as errors.
enum MQTTReason {
    /// The error that a code means; nil for a success.
    static func error(
        _ code: UInt8, isV5: Bool, of what: String, _ text: String?
    ) -> LinkspanError? {
        guard code >= 0x80 || !isV5 && code > 0 else { return nil }
        let (kind, name) = isV5 ? Self.ofReason(code) : Self.ofReturn(code)
        let said = text.map { ": \(ForeignText.line($0))" } ?? ""
        return LinkspanError(kind, "the broker refuses \(what): \(name) (code \(code))\(said)")
    }

    private static func ofReturn(_ code: UInt8) -> (LinkspanError.Code, String) {
        switch code {
        case 1: (.refused, "it does not speak this version of MQTT")
        case 2: (.refused, "it does not allow the client identifier")
        case 3: (.serverUnavailable, "it cannot serve now")
        case 4: (.credentialsRefused, "wrong user name or password")
        case 5: (.credentialsRefused, "not authorized")
        default: (.refused, "an unknown reason")
        }
    }

    private static func ofReason(_ code: UInt8) -> (LinkspanError.Code, String) {
        switch code {
        case 0x81, 0x82: (.protocolViolation, "a malformed packet")
        case 0x84: (.refused, "it does not speak this version of MQTT")
        case 0x85: (.refused, "it does not allow the client identifier")
        case 0x86: (.credentialsRefused, "wrong user name or password")
        case 0x87: (.credentialsRefused, "not authorized")
        case 0x88: (.serverUnavailable, "it cannot serve now")
        case 0x89: (.serverUnavailable, "it is busy")
        case 0x8A: (.refused, "the client is banned")
        case 0x8B: (.serverUnavailable, "it shuts down")
        case 0x8C: (.credentialsRefused, "wrong authentication method")
        case 0x8D: (.heartbeatMissed, "no heartbeat in time")
        case 0x8E: (.closedByServer, "another client has taken the session over")
        case 0x8F, 0x90: (.messageRefused, "it does not allow the topic")
        case 0x93: (.serverUnavailable, "too many deliveries at a time")
        case 0x95: (.messageRefused, "the packet is too large")
        case 0x96, 0x97: (.serverUnavailable, "a quota is used up")
        case 0x99: (.messageRefused, "the content has a wrong format")
        case 0x9C, 0x9D: (.serverUnavailable, "another server is to be used")
        case 0x9F: (.serverUnavailable, "too many connections")
        default: (.refused, "reason \(code)")
        }
    }
}
