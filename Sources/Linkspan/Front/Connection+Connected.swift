internal import LinkspanRuntime

extension Connection {
    /// Waits until the connection is up.
    ///
    /// ```swift
    /// let connection = try await ConnectionBuilder("https://chat.example")
    ///     .transport(.socketIO).connect().connected(within: .seconds(10))
    /// ```
    ///
    /// As long as another attempt follows, losses and failed attempts are waited out. The end of the wait changes nothing:
    /// after a timeout or a cancelled task the connection goes on trying.
    ///
    /// - Parameter limit: how long to wait; nil for as long as it takes.
    /// - Returns: the connection.
    /// - Throws: ``LinkspanError``: the reason for which the connection has failed for good, such as `credentialsRefused`;
    ///   `timedOut` with the failure of the latest attempt as its cause; `disconnected` when the app has disconnected it,
    ///   `released`, `cancelled`; `wrongState` before the first ``connect()``.
    @discardableResult
    public func connected(within limit: Duration? = nil) async throws(LinkspanError) -> Self {
        let status = self.status
        switch status.state {
        case .connected: return self
        case .created where status.progress == .idle: throw status.state.wrongState("waiting for the connection")
        // Disconnected by the app, perhaps while it was suspended, which is no change of state.
        case .disconnected where status.progress == .idle && status.lastError == nil: throw .disconnectedByApp
        case .created, .disconnected, .reconnecting, .released: ()
        }
        let outcome = Promise<Result<Void, LinkspanError>>()
        let changes = self.onStatusChange { change in
            switch change {
            case .state(let change): if let result = change.outcomeOfConnecting { outcome.fulfill(result) }
            case .progress(.idle): outcome.fulfill(.failure(.disconnectedByApp))
            case .progress: ()
            }
        }
        changes.atEnd { outcome.fulfill(.failure(LinkspanError(.released, "the connection has been released"))) }
        let timer = limit.map { limit in
            self.scheduler.schedule(at: self.scheduler.now + limit) {
                let status = self.status
                outcome.fulfill(
                    .failure(
                        LinkspanError(
                            .timedOut, "the connection to \(status.url) was not up within \(limit.text)",
                            because: status.lastError)))
            }
        }
        let result = await withTaskCancellationHandler {
            await outcome.value
        } onCancel: {
            outcome.fulfill(.failure(LinkspanError(.cancelled, "the wait for the connection was cancelled")))
        }
        changes.cancel()
        timer?.cancel()
        try result.get()
        return self
    }
}

extension StateChange {
    /// The outcome for a caller that waits for the connection; nil while another attempt follows.
    fileprivate var outcomeOfConnecting: Result<Void, LinkspanError>? {
        switch (self.to, self.reason) {
        case (.connected, _): .success(())
        case (.released, .failed(let error)), (.disconnected, .failed(let error)): .failure(error)
        case (.released, _), (.disconnected, .unoccupied):
            .failure(LinkspanError(.released, "the connection has been released"))
        case (.disconnected, .requested): .failure(.disconnectedByApp)
        case (.created, _), (.disconnected, .lost), (.disconnected, .established), (.reconnecting, _): nil
        }
    }
}
