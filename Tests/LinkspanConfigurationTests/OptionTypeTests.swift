internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Testing

@Suite("Options as a type")
struct OptionTypeTests {
    private enum Mode: String, Decodable, CaseIterable { case calm, busy }

    private struct Limits: Decodable, Sendable {
        var count = 10
        var factor = 1.5
        var isOn = true
        var label = "all"
        var pause = Duration.seconds(2)
        var mode = Mode.calm
        var rooms = ["lobby"]
        var steps = [1, 2]
        var weights: [String: Double] = ["a": 0.5]
        var note: String?
        var small: UInt8 = 3
        var pauses = [Duration.seconds(1)]
    }

    private struct Service: LifecycleService {
        let name: ServiceName = "limits"
        let limits: Limits
    }

    private static let start =
        "linkspan: { transport: { adapter: memory, memory: { url: memory://a } }, services: { enabled: [limits]"

    private func limits(_ options: String, environment: [String: String] = [:]) throws -> Limits {
        var catalog = Catalog.sample()
        catalog.add(
            ServiceFactory("limits", defaults: Limits(), summaries: ["count": "The number."]) { Service(limits: $0) })
        let text = "\(Self.start), limits: { \(options) } } }"
        let plan = try withDirectory { files in
            try ConfigurationLoader(catalog: catalog).load(
                file: try files.write("app.yaml", text), environment: environment)
        }
        return try #require(plan.plan.services.first?.service as? Service).limits
    }

    @Test
    func `what is not given is as the type says`() throws {
        let limits = try self.limits("")
        #expect(limits.count == 10 && limits.factor == 1.5 && limits.isOn && limits.label == "all")
        #expect(limits.pause == .seconds(2) && limits.mode == .calm && limits.note == nil)
        #expect(limits.rooms == ["lobby"] && limits.steps == [1, 2] && limits.weights == ["a": 0.5])
    }

    @Test
    func `decimals, lists, maps, times and choices are read from a file`() throws {
        let limits = try self.limits(
            "count: 3, factor: 2.25, isOn: no, label: x, pause: 0.5, mode: busy, rooms: [a, b], steps: [7], "
                + "weights: { b: 1, c: 2.5 }, note: hello, small: 255")
        #expect(limits.count == 3 && limits.factor == 2.25 && !limits.isOn && limits.label == "x")
        #expect(limits.pause == .milliseconds(500) && limits.mode == .busy && limits.note == "hello")
        #expect(limits.rooms == ["a", "b"] && limits.steps == [7] && limits.weights == ["b": 1, "c": 2.5])
        #expect(limits.small == 255)
    }

    @Test
    func `durations in a list are read`() throws {
        #expect(try self.limits("pauses: [0.5, 2]").pauses == [.milliseconds(500), .seconds(2)])
    }

    @Test
    func `variables give lists and maps with commas`() throws {
        let limits = try self.limits(
            "",
            environment: [
                "LINKSPAN_SERVICES_LIMITS_WEIGHTS": "x=1, y=2.5", "LINKSPAN_SERVICES_LIMITS_STEPS": "4,5",
                "LINKSPAN_SERVICES_LIMITS_FACTOR": "-0.5",
            ])
        #expect(limits.weights == ["x": 1, "y": 2.5] && limits.steps == [4, 5] && limits.factor == -0.5)
    }

    @Test(arguments: [
        ("count: many", "services.limits.count  expected a whole number, found \"many\""),
        ("factor: much", "services.limits.factor  expected a number, found \"much\""),
        ("mode: wild", "services.limits.mode  expected one of calm, busy, found \"wild\""),
        ("weights: 3", "services.limits.weights  expected a map of keys and values, found \"3\""),
        ("weights: { a: [1] }", "services.limits.weights.a  expected a value, found a list"),
        ("steps: [1, x]", "services.limits  option 'steps[1]': expected a whole number"),
        ("pauses: [1, nan]", "services.limits  option 'pauses[1]': expected a number of seconds"),
        ("pauses: [inf]", "services.limits  option 'pauses[0]': expected a number of seconds"),
        ("pauses: [-1e300]", "services.limits  option 'pauses[0]': expected a number of seconds"),
        ("weights: { a: much }", "services.limits  option 'weights.a': expected a number"),
        ("small: 256", "services.limits.small  expected a whole number from 0 to 255, found \"256\""),
        ("cuont: 1", "services.limits.cuont  unknown option 'cuont' (did you mean 'count'?"),
    ])
    func `a value of another shape is told with its key`(options: String, message: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try self.limits(options) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test
    func `explain knows the defaults, the shape and the purpose`() throws {
        let options = PluginOption.options(of: Limits(), summaries: ["count": "The number."])
        var catalog = Catalog.sample()
        catalog.add(ServiceFactory("limits", options: options) { _ in Service(limits: Limits()) })
        let plan = try withDirectory { files in
            try ConfigurationLoader(catalog: catalog).load(
                file: try files.write("app.yaml", "\(Self.start) } }"), environment: [:])
        }
        let fallbacks = [
            "count": "10", "factor": "1.5", "isOn": "true", "label": "all", "pause": "2", "mode": "calm",
            "rooms": "lobby", "steps": "1, 2", "weights": "a=0.5", "note": "none",
        ]
        for (name, fallback) in fallbacks {
            #expect(plan.explain("services.limits.\(name)")?.fallback == fallback, "\(name)")
        }
        #expect(plan.explain("services.limits.count")?.summary == "The number.")
        #expect(plan.explain("services.limits.weights")?.expectation == "a map of keys and values")
    }

    @Test
    func `values in code are read over the defaults, too`() throws {
        let values = OptionValues(["count": 4, "factor": 0.25, "weights": ["z": "9"], "pause": Duration.seconds(1)])
        let limits = try values.decode(over: Limits())
        #expect(limits.count == 4 && limits.factor == 0.25 && limits.weights == ["z": 9] && limits.pause == .seconds(1))
    }
}
