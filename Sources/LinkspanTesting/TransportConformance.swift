internal import Linkspan
public import Testing

/// Checks of the contract of ``/Linkspan/Transport``, to run over any implementation.
///
/// ```swift
/// @Test(arguments: TransportConformance.Check.allCases)
/// func `the loopback conforms`(check: TransportConformance.Check) async throws {
///     await TransportConformance.run(check, over: try LoopbackFixture())
/// }
/// ```
public enum TransportConformance {
    /// One promise.
    public struct Check: Sendable, CaseIterable, CustomTestStringConvertible {
        /// The promise in a few words.
        public let testDescription: String
        fileprivate let perform: @Sendable (ConformanceRun) async throws -> Void

        private init(_ promise: String, _ perform: @escaping @Sendable (ConformanceRun) async throws -> Void) {
            self.testDescription = promise
            self.perform = perform
        }

        /// Every promise.
        public static let allCases = [
            // `opened` comes once, before everything else.
            Self("opens once before anything else") { try await $0.opensOnceBeforeAnythingElse() },
            // A thousand events come back in order.
            Self("keeps the order of events") { try await $0.keepsTheOrderOfEvents() },
            // A thousand events of the server come in order, and the reply after them.
            Self("keeps the order of a flood") { try await $0.keepsTheOrderOfAFlood() },
            // Requests are answered, each with its own reply.
            Self("brings replies to requests") { try await $0.bringsRepliesToRequests() },
            // The server's questions are answered.
            Self("takes answers to questions") { try await $0.takesAnswersToQuestions() },
            // Blobs travel both ways.
            Self("carries binary both ways") { try await $0.carriesBinaryBothWays() },
            // No argument, several arguments and every kind of character survive.
            Self("carries arguments unchanged") { try await $0.carriesArgumentsUnchanged() },
            // Messages of 1 MiB travel both ways.
            Self("carries large messages") { try await $0.carriesLargeMessages() },
            // The auth payload reaches the server.
            Self("shows credentials") { try await $0.showsCredentials() },
            // Refused credentials end the link with code `credentialsRefused`.
            Self("reports refused credentials") { try await $0.reportsRefusedCredentials() },
            // Events that the server emits before it accepts follow `opened`, in order.
            Self("holds early events") { try await $0.holdsEarlyEvents() },
            // A link to an address without a listener ends with a code that allows another attempt.
            Self("reports unreachable peers") { try await $0.reportsUnreachablePeers() },
            // `close` sends all accepted messages, and ends the link exactly once.
            Self("closes politely") { try await $0.closesPolitely() },
            // `abort` ends the link exactly once, at any moment, also from inside the receiver.
            Self("aborts at any moment") { try await $0.abortsAtAnyMoment() },
            // After its end a link refuses sends and ignores replies.
            Self("refuses sends after the end") { try await $0.refusesSendsAfterTheEnd() },
            // Before it is open a link refuses sends.
            Self("refuses sends before opening") { try await $0.refusesSendsBeforeOpening() },
            // A server that ends the link on purpose is understood.
            Self("reports kicks") { try await $0.reportsKicks() },
            // A lost link is reported, with a code that allows another attempt.
            Self("reports losses") { try await $0.reportsLosses() },
            // Links of one transport do not mix.
            Self("keeps links apart") { try await $0.keepsLinksApart() },
        ]
    }

    /// Runs one check and records failures as issues of the running test.
    ///
    /// - Parameters:
    ///   - check: the promise.
    ///   - fixture: the transport and its peer.
    ///   - sourceLocation: where issues are shown.
    public static func run(
        _ check: Check, over fixture: some TransportFixture, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do {
            try await self.verify(check, over: fixture)
        } catch {
            Issue.record("\(check.testDescription): \(error)", sourceLocation: sourceLocation)
        }
    }

    /// Runs one check.
    package static func verify(_ check: Check, over fixture: some TransportFixture) async throws {
        let run = ConformanceRun(fixture: fixture)
        try await check.perform(run)
        try run.conclude()
    }
}
