package import Linkspan
package import LinkspanLifecycle

/// The changes that turn one running plan into another.
///
/// A value: it can be printed before it is applied.
///
/// ```text
/// transport memory -> websocket
/// + metrics
/// - presence
/// ~ logging.level info -> debug (hot)
/// ```
public struct PlanDifference: Sendable {
    /// The changes in the order of the report: the connection's, then those of the services.
    package var changes: [PlanChange]
    /// The plan that holds afterwards.
    package var plan: MessagingPlan

    /// Makes a difference.
    ///
    /// - Parameters:
    ///   - plan: the plan that holds afterwards, with new objects for the services that are started or restarted.
    ///   - changes: what is different about it.
    package init(to plan: MessagingPlan, _ changes: [PlanChange]) {
        self.plan = plan
        self.changes = changes
    }

    /// Whether there is nothing to do.
    public var isEmpty: Bool { self.changes.isEmpty }

    /// The services to which something happens, by the strongest of what does.
    var services: [ServiceName: ChangeEffect] {
        var effects: [ServiceName: ChangeEffect] = [:]
        for change in self.changes {
            guard case .service(let name) = change.subject else { continue }
            effects[name] = effects[name] == .hot || effects[name] == nil ? change.effect : effects[name]
        }
        return effects
    }

    /// Whether something about the connection changes.
    var changesConnection: Bool { self.changes.contains { $0.subject == .connection } }

    /// Whether the connection needs another link for that.
    var movesConnection: Bool { self.changes.contains { $0.subject == .connection && $0.effect == .reconnect } }
}

extension PlanDifference: CustomStringConvertible {
    /// One line for each change, or `nothing changes`.
    public var description: String {
        self.isEmpty ? "nothing changes" : self.changes.map { $0.description }.joined(separator: "\n")
    }
}

/// One difference between two plans, and its effect.
package struct PlanChange: Sendable, Hashable {
    /// The subject of the change.
    package var subject: Subject
    /// The key without the words that lead to it, such as `transport`, `endpoint`, `idleTimeout` or `logging.level`.
    package var key: String
    /// The former value, redacted; nil for a service that comes.
    package var old: String?
    /// The new value, redacted; nil for a service that goes.
    package var new: String?
    /// The effect of the change.
    package var effect: ChangeEffect
    /// The reason for the change, when nothing about it is different itself.
    package var reason: String?

    /// Makes a change.
    package init(
        _ subject: Subject, _ key: String, old: String? = nil, new: String? = nil, _ effect: ChangeEffect,
        reason: String? = nil
    ) {
        self.subject = subject
        self.key = key
        self.old = old
        self.new = new
        self.effect = effect
        self.reason = reason
    }

    /// The subject of a change.
    package enum Subject: Sendable, Hashable {
        /// Transport, endpoint or options of the connection.
        case connection
        /// A service.
        case service(ServiceName)
    }
}

extension PlanChange: CustomStringConvertible {
    /// The change in one line.
    package var description: String {
        if let reason = self.reason { return "~ \(self.key) (\(self.effect): \(reason))" }
        switch self.effect {
        case .start: return "+ \(self.key)"
        case .stop: return "- \(self.key)"
        case .restart, .hot, .reconnect, .refused: ()
        }
        let values = "\(self.key) \(self.old ?? "(none)") -> \(self.new ?? "(none)")"
        return self.key == "transport" ? values : "~ \(values) (\(self.effect))"
    }
}
