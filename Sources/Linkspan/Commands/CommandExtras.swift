internal import LinkspanRuntime

/// The properties that a plain send does not have, kept apart so that it is small enough to be passed on without copies.
///
/// A million commands may wait, so that what deliveries alone need takes no memory in requests.
struct CommandExtras: Sendable {
    /// The properties of most commands.
    struct Common: Sendable {
        var completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)?
        var timeout: Duration?
        var stage = Command.Stage.waiting
        // Only deliveries have these, but here they fill a gap.
        var hasMadeKey = false
        var isRestored = false
        var refusals: Int32 = 0

        fileprivate var isEmpty: Bool {
            self.completion == nil && self.timeout == nil && self.stage == .waiting && self.refusals == 0
                && !self.hasMadeKey && !self.isRestored
        }
    }

    /// The properties that deliveries have, and few others.
    struct Rare: Sendable {
        /// The ordering key of a delivery; the key under which a send replaces another.
        var name: String?
        var key: String?
        var accepted: (@Sendable (DeliveryReceipt) -> Void)?

        fileprivate var isEmpty: Bool { self.name == nil && self.key == nil && self.accepted == nil }
    }

    private struct All: Sendable {
        var common: Common
        var rare: Rare
    }

    private enum Storage: Sendable {
        case none
        case common(Boxed<Common>)
        case all(Boxed<All>)
    }

    private var storage: Storage

    init(_ common: Common = Common(), _ rare: Rare = Rare()) {
        if !rare.isEmpty {
            self.storage = .all(Boxed(All(common: common, rare: rare)))
        } else {
            self.storage = common.isEmpty ? .none : .common(Boxed(common))
        }
    }

    /// Whether a command has none of them.
    var isEmpty: Bool { if case .none = self.storage { true } else { false } }

    var common: Common {
        _read {
            switch self.storage {
            case .none: yield Common()
            case .common(let box): yield box.value
            case .all(let box): yield box.value.common
            }
        }
        // In place, because each request changes its stage several times.
        _modify {
            switch self.storage {
            case .none:
                var common = Common()
                defer { self = Self(common) }
                yield &common
            case .common(var box):
                self.storage = .none
                defer { self.storage = box.value.isEmpty ? .none : .common(box) }
                yield &box.value
            case .all(var box):
                self.storage = .none
                defer { self.storage = .all(box) }
                yield &box.value.common
            }
        }
    }

    var rare: Rare {
        _read {
            switch self.storage {
            case .none, .common: yield Rare()
            case .all(let box): yield box.value.rare
            }
        }
        set { self = Self(self.common, newValue) }
    }
}
