#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

import Testing

/// TLS as it looks from the outside (RFC 8446 section 5.1).
enum TLSRecords {
    /// The types of the records that bytes are made of.
    static func kinds(_ bytes: [UInt8]) -> [UInt8] {
        var kinds: [UInt8] = []
        var start = 0
        while start + 5 <= bytes.count {
            kinds.append(bytes[start])
            start += 5 + Int(bytes[start + 3]) << 8 + Int(bytes[start + 4])
        }
        return kinds
    }

    /// A TLS 1.2 hello for `localhost`, with one cipher of elliptic curves.
    private static let hello: [UInt8] = {
        let extensions: [UInt8] = [
            0x00, 0x0A, 0x00, 0x04, 0x00, 0x02, 0x00, 0x17,  // supported_groups: secp256r1
            0x00, 0x0D, 0x00, 0x04, 0x00, 0x02, 0x04, 0x03,  // signature_algorithms: ecdsa_secp256r1_sha256
        ]
        let ciphers: [UInt8] = [0xC0, 0x2B]
        var body: [UInt8] = [0x03, 0x03] + [UInt8](repeating: 7, count: 32) + [0, 0, UInt8(ciphers.count)] + ciphers
        body += [1, 0, 0, UInt8(extensions.count)] + extensions
        let message: [UInt8] = [1, 0, 0, UInt8(body.count)] + body
        return [0x16, 0x03, 0x01, 0, UInt8(message.count)] + message
    }()

    /// What a server answers to a hello, up to the moment it waits.
    static func firstFlight(port: Int) throws -> [UInt8] {
        let descriptor = socket(AF_INET, Socket.stream, 0)
        defer { close(descriptor) }
        LoopbackServer.connectTo(descriptor, "127.0.0.1", port: port)
        let peer = Peer(descriptor: descriptor)
        try #require(peer.write(Self.hello))
        var bytes: [UInt8] = []
        // ServerHello, Certificate, ServerKeyExchange and ServerHelloDone, however they are put into records.
        while !Self.isComplete(bytes) {
            let more = peer.read()
            try #require(!more.isEmpty)
            bytes += more
        }
        return bytes
    }

    private static func isComplete(_ bytes: [UInt8]) -> Bool { bytes.suffix(4) == [14, 0, 0, 0] }
}

/// Says that nothing more comes, and goes on reading.
func shutdownWriting(_ peer: Peer) { shutdown(peer.descriptor, Int32(SHUT_WR)) }
