#if ServiceLifecycle
internal import LinkspanLifecycle
internal import ServiceLifecycle

/// Runs a value in a service group: starts it, waits for the shutdown, and stops it.
struct GroupLifetime<Value: Sendable>: Sendable {
    let start: @Sendable () async throws -> Value
    let onReady: @Sendable (Value) async throws -> Void
    /// Returns within a budget, whether or not the task is cancelled.
    let stop: @Sendable (Value) async -> Void

    /// Returns when the group shuts down, or when the task is cancelled; it is stopped either way.
    ///
    /// Rethrows errors of the start, unless the shutdown cancelled it, and those of `onReady`.
    func run() async throws {
        let value: Value
        do {
            let start = self.start
            value = try await cancelWhenGracefulShutdown { try await start() }
        } catch {
            // What had been started has been stopped again.
            guard error.isGivenUpStart, Task.isCancelled || Task.isShuttingDownGracefully else { throw error }
            return
        }
        do {
            try await self.onReady(value)
            try await gracefulShutdown()
        } catch {
            await self.stop(value)
            guard error is CancellationError, Task.isCancelled else { throw error }
            return
        }
        await self.stop(value)
    }
}
#endif
