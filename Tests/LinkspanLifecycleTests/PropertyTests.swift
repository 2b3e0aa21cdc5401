internal import LinkspanTesting
internal import Testing

@testable internal import LinkspanLifecycle

/// A random list of services, and random ways to nest it.
private struct RandomTree {
    var seed: UInt64
    var generator: SeededGenerator
    var names: [ServiceName] = []
    var placements: [ServiceName: Placement] = [:]
    var failing: Set<ServiceName> = []

    init(seed: UInt64, failures: Bool = false) {
        self.seed = seed
        self.generator = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...14, using: &self.generator)
        let phases: [Placement.Phase?] = [nil, nil, .core, .storage, .transport, .observer]
        for index in 0..<count {
            let name = ServiceName(rawValue: "s\(index)")
            var placement = Placement(
                phase: phases.randomElement(using: &self.generator) ?? nil,
                priority: Int.random(in: 0...2, using: &self.generator))
            for other in self.names where Int.random(in: 0..<4, using: &self.generator) == 0 {
                let isHard = Bool.random(using: &self.generator)
                placement.needs.append(isHard ? .hard(other) : .soft(other))
            }
            self.names.append(name)
            self.placements[name] = placement
            if failures, Int.random(in: 0..<4, using: &self.generator) == 0 {
                self.failing.insert(name)
            }
        }
        self.names.shuffle(using: &self.generator)
    }

    func probe(_ name: ServiceName, _ journal: Journal) -> Probe {
        Probe(name, in: journal) { probe in
            probe.placement = self.placements[name] ?? Placement()
            if self.failing.contains(name) {
                probe.onStart = { _ in
                    journal.add("start \(name)")
                    throw Trouble()
                }
            }
        }
    }

    /// Time stands still: these properties are about order, and a slow machine must not run into a budget.
    private static func options(isSequential: Bool) -> RegistryOptions {
        .init {
            $0.isSequential = isSequential
            $0.scheduler = ManualScheduler()
        }
    }

    /// A registry with all services at the top.
    func flat(_ journal: Journal, isSequential: Bool) throws -> ServiceRegistry {
        let registry = ServiceRegistry(options: Self.options(isSequential: isSequential))
        for name in self.names {
            try registry.register(self.probe(name, journal)).keep()
        }
        return registry
    }

    /// A registry with the same services somewhere in nested registries.
    mutating func nested(_ journal: Journal, isSequential: Bool) throws -> ServiceRegistry {
        let root = ServiceRegistry(options: Self.options(isSequential: isSequential))
        var groups = [root]
        for index in 0..<Int.random(in: 1...5, using: &self.generator) {
            groups.append(ServiceRegistry(name: ServiceName(rawValue: "g\(index)")))
        }
        for name in self.names {
            let group = groups.randomElement(using: &self.generator) ?? root
            try group.register(self.probe(name, journal)).keep()
        }
        // A group goes into an earlier one, so there is no circle; half of them are nested before, half after others.
        for index in (1..<groups.count).shuffled(using: &self.generator) {
            try groups[Int.random(in: 0..<index, using: &self.generator)].register(groups[index]).keep()
        }
        return root
    }
}

@Suite(.timeLimit(.minutes(1)))
struct PropertyTests {
    @Test(arguments: 0..<60)
    func `a nested tree starts and stops like the flat list of its services`(index: Int) async throws {
        let seed = UInt64(index) &* 7919 &+ 1
        var tree = RandomTree(seed: seed, failures: index.isMultiple(of: 2))
        let flat = Journal()
        let nested = Journal()
        let flatRegistry = try tree.flat(flat, isSequential: true)
        let nestedRegistry = try tree.nested(nested, isSequential: true)
        let flatReport = try await flatRegistry.start()
        let nestedReport = try await nestedRegistry.start()
        func last(_ path: String) -> String { String(path.split(separator: ".").last ?? "") }
        #expect(nestedReport.waves.map { $0.map(last) } == flatReport.waves.map { $0.map(last) }, "seed \(seed)")
        #expect(
            Set(nestedReport.degraded.keys.map(last)) == Set(flatReport.degraded.keys.map(last)), "seed \(seed)")
        let flatStop = await flatRegistry.stop()
        let nestedStop = await nestedRegistry.stop()
        #expect(nested.all == flat.all, "seed \(seed)")
        #expect(
            Dictionary(uniqueKeysWithValues: nestedStop.rows.map { (last($0.path), $0.isSkippedOrFate) })
                == Dictionary(uniqueKeysWithValues: flatStop.rows.map { (last($0.path), $0.isSkippedOrFate) }),
            "seed \(seed)")
    }

    @Test(arguments: 0..<30)
    func `in a sequential registry, stop is the exact reverse of start`(index: Int) async throws {
        let seed = UInt64(index) &* 104_729 &+ 3
        let tree = RandomTree(seed: seed)
        let journal = Journal()
        let registry = try tree.flat(journal, isSequential: true)
        try await registry.start()
        await registry.stop()
        let started = journal.all(with: "start ")
        #expect(started.count == tree.names.count)
        #expect(journal.all(with: "stop ") == started.reversed(), "seed \(seed)")
        #expect(journal.all(with: "quiesce ") == started.reversed(), "seed \(seed)")
    }

    @Test(arguments: 0..<40)
    func `in a concurrent registry, needs are ready before and stopped after their dependants`(index: Int) async throws
    {
        let seed = UInt64(index) &* 15_485_863 &+ 5
        var tree = RandomTree(seed: seed, failures: index.isMultiple(of: 3))
        let journal = Journal()
        let registry = try tree.nested(journal, isSequential: false)
        try await registry.start()
        await registry.stop()
        let started = journal.all(with: "start ")
        let stopped = journal.all(with: "stop ")
        #expect(Set(stopped) == Set(started), "seed \(seed)")
        #expect(stopped.count == Set(stopped).count, "seed \(seed)")
        for (name, placement) in tree.placements {
            guard let start = started.firstIndex(of: name.rawValue) else {
                continue
            }
            for need in placement.needs {
                guard let other = started.firstIndex(of: need.name.rawValue) else {
                    #expect(!need.isHard, "seed \(seed): \(name) started without \(need.name)")
                    continue
                }
                #expect(other < start, "seed \(seed): \(name) needs \(need.name)")
                let first = stopped.firstIndex(of: name.rawValue) ?? 0
                let second = stopped.firstIndex(of: need.name.rawValue) ?? 0
                #expect(first < second, "seed \(seed): \(name) needs \(need.name)")
            }
        }
    }

    @Test(arguments: 0..<40)
    func `every service is stopped once, whenever the stop is called`(index: Int) async throws {
        let seed = UInt64(index) &* 6_700_417 &+ 7
        var tree = RandomTree(seed: seed, failures: true)
        let journal = Journal()
        let registry = try tree.nested(journal, isSequential: false)
        let reports = await withTaskGroup(of: ShutdownReport?.self) { group in
            group.addTask {
                _ = try? await registry.start()
                return nil
            }
            for yields in [index % 7, index % 5] {
                group.addTask {
                    for _ in 0..<(yields * 5) {
                        await Task.yield()
                    }
                    return await registry.stop()
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.compactMap { $0 }
        }
        #expect(reports.count == 2)
        #expect(reports.first == reports.last, "seed \(seed)")
        #expect(reports.first?.rows.count == tree.names.count, "seed \(seed)")
        let stopped = journal.all(with: "stop ")
        #expect(stopped.count == Set(stopped).count, "seed \(seed)")
        #expect(Set(stopped) == Set(journal.all(with: "start ")), "seed \(seed)")
    }
}

extension ShutdownReport.Row {
    /// The fate without the path of another service, which nesting changes.
    fileprivate var isSkippedOrFate: ServiceState {
        if case .skipped(let because) = self.fate {
            return .skipped(because: String(because.split(separator: ".").last ?? ""))
        }
        return self.fate
    }
}
