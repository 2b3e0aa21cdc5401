internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import OldSocketIOPrograms
@testable internal import SocketIO
internal import Starscream
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Programs of tutorials and of answers to questions, and what they rely on without a word about it in the documents.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)))
struct FurtherProgramTests {
    @Test
    func `a logger of an app has the methods of version 16`() throws {
        let (former, logger) = (DefaultSocketLogger.Logger, LineLogger())
        defer { DefaultSocketLogger.Logger = former }
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")),
            config: [.logger(logger), .log(true), .handleQueue(DispatchQueue(label: "handlers"))])
        manager.defaultSocket.handleEvent("one", data: [], isInternalMessage: true)
        manager.defaultSocket.didError(reason: "two")
        #expect(logger.lines.first == "SocketIOClient{/} handles one")
        #expect(logger.lines.contains("ERROR SocketIOClient{/} two"))
    }
}
