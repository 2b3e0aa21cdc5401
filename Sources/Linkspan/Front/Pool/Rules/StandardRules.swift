extension [any KeeperRule] {
    /// The keeper's rules unless told otherwise.
    ///
    /// What nobody holds is released before a signal can suspend or resume it.
    static var standard: Self { [ReconnectRule(), ReleaseRule(), SuspendRule(), ResumeRule()] }
}
