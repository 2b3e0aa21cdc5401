internal import LinkspanRuntime

extension RegistryCore {
    /// Asks a call to end, and stops waiting for it after the given time.
    typealias CancelCall = @Sendable (Duration) -> Void

    /// Calls a service on its threads and waits for it until `deadline`, and not longer.
    ///
    /// - Parameters:
    ///   - urgency: Which threads run the call.
    ///   - call: The state of the call, which the service's scope shares.
    ///   - deadline: When to stop waiting.
    ///   - grace: How long the call may go on after the caller's task was cancelled; `nil` if cancelling the caller does
    ///     not concern the call.
    ///   - onBegin: Called when the call has begun, with the means to cancel it.
    ///   - onLateEnd: Called with the outcome if it comes after the call was given up.
    ///   - body: The call.
    /// - Returns: How the call ended, or that it was given up.
    func run<Value: Sendable>(
        _ urgency: Urgency, _ call: ServiceCall, until deadline: ContinuousClock.Instant, grace: Duration?,
        onBegin: (@escaping CancelCall) -> Void = { _ in },
        onLateEnd: @escaping @Sendable (CallOutcome<Value>) -> Void = { _ in },
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> CallOutcome<Value> {
        let outcome = Promise<CallOutcome<Value>>()
        let (threads, scheduler) = (self.threads(for: urgency), self.scheduler)
        let expire: @Sendable (ContinuousClock.Instant) -> Void = { instant in
            call.keep(scheduler.schedule(at: instant) { if call.abandon() { outcome.fulfill(.abandoned) } })
        }
        // Before the call, so that its time is running when the service sees it begin.
        expire(deadline)
        let task = threads.begin {
            let result: CallOutcome<Value>
            do {
                result = .returned(try await body())
            } catch {
                result = .threw(error)
            }
            if call.finish() { outcome.fulfill(result) } else { onLateEnd(result) }
        }
        // Cancelling runs the service's own cancellation handlers, which may block: never on the canceller's thread.
        let cancel: CancelCall = { grace in
            threads.submit { task.cancel() }
            expire(scheduler.now.advanced(by: grace))
        }
        onBegin(cancel)
        let result = await withTaskCancellationHandler {
            await outcome.value
        } onCancel: {
            if let grace { cancel(grace) }
        }
        if case .abandoned = result { threads.submit { task.cancel() } }
        return result
    }

    /// Calls a service and waits until `deadline`; cancelling the caller does not concern the call.
    func call(
        _ member: Member, until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any LifecycleService, ServiceScope) async throws -> Void
    ) async -> CallOutcome<Void> {
        let call = ServiceCall()
        let scope = self.scope(member.entry.id, member.path, call, deadline: deadline)
        let service = member.entry.service
        return await self.run(member.entry.urgency, call, until: deadline, grace: nil) {
            try await body(service, scope)
        }
    }

    /// Asks a service, for as long as it may handle an event; cancelling the caller ends the call.
    func ask<Answer: Sendable>(
        _ member: Member, within limit: Duration?, _ body: @escaping @Sendable (ServiceScope) async throws -> Answer
    ) async -> CallOutcome<Answer> {
        let own = member.entry.budgets.handle
        let deadline = self.later(min(own, limit ?? own))
        let call = ServiceCall()
        let scope = self.scope(member.entry.id, member.path, call, deadline: deadline)
        return await self.run(member.entry.urgency, call, until: deadline, grace: .zero) { try await body(scope) }
    }

    /// Runs `body` for each item at once, or one after the other if the registry is set so.
    ///
    /// - Returns: the results in the order of the items.
    func each<Item: Sendable, Value: Sendable>(
        _ items: some Collection<Item> & Sendable, _ body: @escaping @Sendable (Item) async -> Value
    ) async -> [Value] {
        guard self.options.isSequential else { return await Self.concurrently(items, body) }
        var results: [Value] = []
        for item in items { results.append(await body(item)) }
        return results
    }

    /// Runs `body` for each item at once.
    ///
    /// - Returns: the results in the order of the items.
    static func concurrently<Item: Sendable, Value: Sendable>(
        _ items: some Collection<Item> & Sendable, _ body: @escaping @Sendable (Item) async -> Value
    ) async -> [Value] {
        await withTaskGroup(of: (Int, Value).self) { group in
            for (index, item) in items.enumerated() { group.addTask { (index, await body(item)) } }
            var results: [(Int, Value)] = []
            for await result in group { results.append(result) }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
