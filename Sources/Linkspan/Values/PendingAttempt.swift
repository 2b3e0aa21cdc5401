/// An attempt that has its credentials, and may open its link.
struct PendingAttempt {
    let epoch: UInt64
    /// The count of attempts since the connection was last up, from 1.
    let number: Int
    let credentials: Credentials
}
