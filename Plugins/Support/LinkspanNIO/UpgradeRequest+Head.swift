#if NIO
internal import LinkspanNetwork

extension UpgradeRequest {
    /// The request as it is sent, up to its empty line; of an exchange it says that the connection is used once.
    var head: [UInt8] {
        var head = Array("\(self.method) \(self.target) HTTP/1.1\r\nHost: \(self.hostHeader)\r\n".utf8)
        head += self.headerLines
        if self.isExchange { head += "Connection: close\r\n".utf8 }
        head += "\r\n".utf8
        return head
    }
}
#endif
