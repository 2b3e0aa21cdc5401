public import Linkspan
public import LinkspanLifecycle
public import LinkspanMessaging
internal import LinkspanRuntime

/// Requests background time while commands wait, until they are sent, and answered if they
/// have to be, or the time is over.
///
/// It follows the app's phases, so that it needs the service `app` or an ``AppForwarder``, and the plan's connection.
/// Where the system suspends no app it does nothing.
public final class BackgroundTimeService: ConnectionUsing, AppObserving {
    /// The name of the service.
    public let name: ServiceName = "backgroundtime"

    enum Input: Sendable {
        case uses(any Connection)
        case entered
        case left
        case look
        case expired
    }

    /// The interval at which a connection is polled, because it does not report an empty queue.
    static let period = Duration.milliseconds(250)

    private let time: BackgroundTime
    private let limit: Duration
    private let inputs: AsyncStream<Input>
    private let input: AsyncStream<Input>.Continuation

    /// Makes the service.
    ///
    /// - Parameter limit: the longest time to ask for; iOS gives about 30 s.
    @available(iOSApplicationExtension, unavailable)
    @available(tvOSApplicationExtension, unavailable)
    @available(visionOSApplicationExtension, unavailable)
    public convenience init(limit: Duration = .seconds(25)) {
        #if (canImport(UIKit) && !os(macOS)) || os(watchOS)
        self.init(limit: limit, time: SystemBackgroundTime.begin)
        #else
        self.init(limit: limit, time: { _ in nil })
        #endif
    }

    init(limit: Duration, time: @escaping BackgroundTime) {
        self.limit = limit
        self.time = time
        (self.inputs, self.input) = AsyncStream.makeStream()
    }

    /// Follows this connection.
    ///
    /// - Parameter connection: the service's own handler of the connection.
    /// - Throws: nothing.
    public func use(_ connection: any Connection) throws(LinkspanError) { self.input.yield(.uses(connection)) }

    /// Follows whether the app is out of sight.
    public func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws {
        switch event.event {
        case .didEnterBackground: self.input.yield(.entered)
        case .willEnterForeground, .didBecomeActive: self.input.yield(.left)
        case .willResignActive, .willTerminate: ()
        @unknown default: ()
        }
    }

    /// Asks for time and gives it back, until the service stops; it can run once.
    public func run(_ scope: ServiceScope) async throws {
        var connection: (any Connection)?
        var lease: (end: @Sendable () async -> Void, deadline: ContinuousClock.Instant)?
        for await input in self.inputs {
            switch input {
            case .uses(let used): connection = used
            case .entered:
                guard lease == nil, let current = connection, current.status.waitingCommands > 0,
                    let end = await self.time({ [input = self.input] in input.yield(.expired) })
                else { continue }
                lease = (end, current.scheduler.now + self.limit)
                self.look(current)
            case .look:
                guard let held = lease, let current = connection else { continue }
                guard current.status.waitingCommands == 0 || current.scheduler.now >= held.deadline else {
                    self.look(current)
                    continue
                }
                await held.end()
                lease = nil
            case .left, .expired:
                await lease?.end()
                lease = nil
            }
        }
        await lease?.end()
    }

    private func look(_ connection: any Connection) {
        _ = connection.scheduler.schedule(at: connection.scheduler.now + Self.period) { [input = self.input] in
            input.yield(.look)
        }
    }
}
