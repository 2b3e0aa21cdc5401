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
        var isUnkept = false
        var refusals: Int32 = 0

        fileprivate var isEmpty: Bool {
            self.completion == nil && self.timeout == nil && self.stage == .waiting && self.refusals == 0
                && !self.hasMadeKey && !self.isRestored && !self.isUnkept
        }
    }

    /// The properties that deliveries have, and few others.
    struct Rare: Sendable {
        /// The ordering key of a delivery; the key under which a send replaces another.
        var name: String?
        var key: String?
        var accepted: (@Sendable (String) -> Void)?

        fileprivate var isEmpty: Bool { self.name == nil && self.key == nil && self.accepted == nil }
    }

    private struct All: Sendable {
        var common: Common
        var rare: Rare
        var delay: Duration?
    }

    private enum Storage: Sendable {
        case none
        case common(Boxed<Common>)
        case all(Boxed<All>)
    }

    private var storage: Storage

    /// Made without the properties: each send passes here.
    init() { self.storage = .none }

    init(_ common: Common, _ rare: Rare = Rare()) {
        if !rare.isEmpty {
            self.storage = .all(Boxed(All(common: common, rare: rare)))
        } else {
            self.storage = common.isEmpty ? .none : .common(Boxed(common))
        }
    }

    /// Whether a command has none of them.
    var isEmpty: Bool { if case .none = self.storage { true } else { false } }

    // By closures here and below, which cost nothing: an accessor that lends the value allocates a frame for it.
    @inline(__always)
    func common<Answer>(_ look: (Common) -> Answer) -> Answer {
        switch self.storage {
        case .none: look(Common())
        case .common(let box): look(box.value)
        case .all(let box): look(box.value.common)
        }
    }

    // As a generic answer a closure would be wrapped into another.
    var completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)? {
        switch self.storage {
        case .none: nil
        case .common(let box): box.value.completion
        case .all(let box): box.value.common.completion
        }
    }

    // Apart from the rare ones, which each request is made with.
    var delay: Duration? {
        get { if case .all(let box) = self.storage { box.value.delay } else { nil } }
        set {
            let (common, rare) = (self.common { $0 }, self.rare { $0 })
            self = Self(common, rare)
            if let newValue { self.storage = .all(Boxed(All(common: common, rare: rare, delay: newValue))) }
        }
    }

    /// Changes them in place, because each request changes its stage several times.
    @inline(__always)
    mutating func changeCommon(_ change: (inout Common) -> Void) {
        switch self.storage {
        case .none:
            var common = Common()
            change(&common)
            self = Self(common)
        case .common(var box):
            self.storage = .none
            change(&box.value)
            self.storage = box.value.isEmpty ? .none : .common(box)
        case .all(var box):
            self.storage = .none
            change(&box.value.common)
            self.storage = .all(box)
        }
    }

    func rare<Answer>(_ look: (Rare) -> Answer) -> Answer {
        switch self.storage {
        case .none, .common: look(Rare())
        case .all(let box): look(box.value.rare)
        }
    }

    mutating func changeRare(_ change: (inout Rare) -> Void) {
        let delay = self.delay
        var rare = self.rare { $0 }
        change(&rare)
        self = Self(self.common { $0 }, rare)
        if let delay { self.delay = delay }
    }
}
