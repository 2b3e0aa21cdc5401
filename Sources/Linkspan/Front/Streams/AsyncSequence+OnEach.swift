public import LinkspanRuntime

// Listeners that run elsewhere than on the connection's executor. The sequence is the bounded queue between the two.

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Calls `handler` with each element, in order, on the actor that isolates the closure.
    ///
    /// In code of the main actor the handler runs there, in a method of an actor on that actor, and elsewhere in a task
    /// of its own; the compiler checks what it touches. Nothing but the sequence waits for it: a slow handler, or a
    /// main actor that is busy, fills the sequence, which then follows its overflow rule.
    ///
    /// ```swift
    /// try connection.values(.quoted, capacity: 100).onEach { self.quote = try? $0.get() }
    /// connection.stateChanges.onEach { self.state = $0.to }
    /// ```
    ///
    /// The actor is entered once for all elements that wait, and left at times so that others get their turn.
    ///
    /// The handler and what it captures are kept until the subscription or the sequence ends: capture a model that may
    /// go away earlier weakly.
    ///
    /// - Parameter handler: gets the elements, one call after the other; it may take its time.
    /// - Returns: the registration; it lasts whether or not it is kept. Once it is cancelled on the actor, no call
    ///   follows.
    @discardableResult
    public func onEach(
        // Underscored in the language, and the only way to have the compiler check the isolation of the caller's
        // closure: it is what `Task.init` is declared with.
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Element) async -> Void
    ) -> Subscription {
        let isolation = handler.isolation
        // No parent: it lasts as long as the subscription, not as long as the caller.
        let task = Task { await self.read(isolation: isolation) { await handler($0) } }
        return Subscription { task.cancel() }
    }

    /// Calls `handler` with each element, in order, on an executor such as that of
    /// `SystemScheduler.makeExecutor(label:)`.
    ///
    /// Otherwise like ``onEach(_:)``.
    ///
    /// - Parameters:
    ///   - executor: gets one job for all elements that wait.
    ///   - handler: gets the elements.
    /// - Returns: the registration; it lasts whether or not it is kept. Once it is cancelled on the executor, no call
    ///   follows.
    @discardableResult
    public func onEach(
        on executor: any JobExecutor, _ handler: @escaping @Sendable (Element) -> Void
    ) -> Subscription {
        let place = ExecutorActor(executor)
        // No parent: it lasts as long as the subscription, not as long as the caller.
        let task = Task { await self.read(isolation: place) { handler($0) } }
        return Subscription { task.cancel() }
    }

    /// Reads on an actor, which others get their turn on after 256 elements that were there without waiting.
    private func read(
        isolation: isolated (any Actor)?, _ handler: nonisolated(nonsending) @Sendable (Element) async -> Void
    ) async {
        var count = 0
        do {
            for try await element in self {
                guard !Task.isCancelled else { return }
                await handler(element)
                count += 1
                if count.isMultiple(of: 256) { await Task.yield() }
            }
        } catch {
            // A sequence of someone else's that fails has ended; those of a connection do not fail.
        }
    }
}

/// A job executor as an actor, so that what waits in a sequence is read there.
private actor ExecutorActor {
    private final class Adapter: SerialExecutor {
        private let base: any JobExecutor

        init(_ base: any JobExecutor) { self.base = base }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            self.base.execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    private let adapter: Adapter

    init(_ executor: any JobExecutor) { self.adapter = Adapter(executor) }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.adapter.asUnownedSerialExecutor() }
}
