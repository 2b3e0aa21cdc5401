#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

extension UpgradeAnswer {
    /// Copies what is needed of the head that the library has just parsed, and that it forgets soon.
    init(_ connection: OpaquePointer) {
        func header(_ name: clws_header) -> String? {
            let length = Int(clws_header_length(connection, name))
            guard length > 0 else { return nil }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { bytes in
                let copied = clws_header_copy(connection, name, bytes.baseAddress, CInt(bytes.count))
                guard copied > 0 else { return nil }
                return String(
                    decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<Int(copied)]),
                    as: UTF8.self)
            }
        }
        let isChunked = header(.transfer_encoding) != nil
        self.init(
            head: ResponseHead(
                status: Int(clws_status(connection)), upgrade: header(.upgrade), connection: header(.connection),
                accept: header(.accept), subprotocol: header(.protocol), extensions: header(.extensions)),
            location: header(.location), retryAfter: header(.retry_after),
            hasBody: header(.content_length) != nil || isChunked, isChunked: isChunked)
        self.complete(cookies: Self.cookies(connection), length: header(.content_length))
    }

    private static let mostCookies = 64

    /// The values of `Set-Cookie`: a field each, because a value may have a comma (RFC 6265 section 3).
    private static func cookies(_ connection: OpaquePointer) -> [String] {
        var cookies: [String] = []
        while cookies.count < Self.mostCookies {
            let index = CInt(cookies.count)
            let length = Int(clws_header_fragment_length(connection, .set_cookie, index))
            guard length > 0 else { break }
            var bytes = [UInt8](repeating: 0, count: length + 3)
            let copied = bytes.withUnsafeMutableBytes { room in
                clws_header_fragment(
                    connection, .set_cookie, index, room.baseAddress?.assumingMemoryBound(to: CChar.self),
                    CInt(room.count))
            }
            guard copied > 0 else { break }
            let value = bytes.prefix(Int(copied)).drop { $0 == 0x20 || $0 == 0x09 }
            cookies.append(String(decoding: value, as: UTF8.self))
        }
        return cookies
    }
}
#endif
