internal import LinkspanBrokers
internal import LinkspanDevServer
internal import Testing

/// The conformance suite over the protocols of brokers.
@Suite("Conformance of brokers' protocols", .timeLimit(.minutes(1)))
struct ProtocolConformanceTests {
    @Test(arguments: MessageProtocolConformance.Check.allCases, [MQTTMessageProtocol.Version.v5, .v3])
    func `MQTT conforms`(check: MessageProtocolConformance.Check, version: MQTTMessageProtocol.Version) throws {
        try MessageProtocolConformance.run(check, over: MQTTPeer(version: version))
    }

    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `NATS conforms`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: NATSPeer())
    }
}
