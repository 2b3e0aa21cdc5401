/// Keeps the stream's callbacks out of the channel's public face.
final class StreamBridge: ByteStreamHandler {
    private let channel: WebSocketChannel

    init(channel: WebSocketChannel) { self.channel = channel }

    func opened(_ head: ResponseHead) { self.channel.streamOpened(head) }
    func received(_ bytes: [UInt8]) { self.channel.streamReceived(bytes) }
    func writable() { self.channel.streamWritable() }
    func closed(_ reason: ByteStreamError) { self.channel.streamClosed(reason) }
}
