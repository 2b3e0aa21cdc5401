internal import CLibwebsockets

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
        self.head = ResponseHead(
            status: Int(clws_status(connection)), upgrade: header(.upgrade),
            connection: header(.connection), accept: header(.accept),
            subprotocol: header(.protocol), extensions: header(.extensions))
        self.location = header(.location)
        self.retryAfter = header(.retry_after)
        self.hasBody = header(.content_length) != nil || header(.transfer_encoding) != nil
    }
}
