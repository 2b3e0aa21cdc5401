internal import Linkspan
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanNetwork

// Because a macro cannot change a value, the answers are taken before they are compared.
@Suite("The mailbox of a loop")
struct LoopMailboxTests {
    private static func word(_ answer: LoopMailbox.OnAdd) -> String {
        switch answer {
        case .nothing: return "nothing"
        case .drain: return "drain"
        case .wake(let wake):
            wake()
            return "wake"
        case .start: return "start"
        case .ended: return "ended"
        }
    }

    private static func word(_ answer: LoopMailbox.OnTake) -> String {
        switch answer {
        case .work: "work"
        case .sleep(nil, _): "sleep"
        case .sleep: "sleep until"
        case .retire: "retire"
        case .stop: "stop"
        }
    }

    /// The answer of a mailbox to a loop that takes its work, with the numbers of jobs and timers that it hands over.
    private static func take(_ mailbox: inout LoopMailbox, isUsed: Bool = true) -> String {
        var work = LoopMailbox.Work()
        let word = Self.word(mailbox.take(into: &work, isUsed: isUsed))
        return word == "work" ? "work \(work.jobs.count) \(work.timers?.count ?? 0)" : word
    }

    private static func add(_ mailbox: inout LoopMailbox) -> String { Self.word(mailbox.add {}) }

    private static func add(_ mailbox: inout LoopMailbox, due: Moment) -> (String, LoopMailbox.TimerKey?) {
        let (answer, key) = mailbox.add({}, due: due)
        return (Self.word(answer), key)
    }

    /// A mailbox of a loop that runs, and how often it was woken.
    private static func running(idleLimit: Duration? = nil) -> (LoopMailbox, wakes: Lock<Int>) {
        let wakes = Lock(0)
        var mailbox = LoopMailbox(idleLimit: idleLimit)
        mailbox.wake = { wakes.withLock { $0 += 1 } }
        if idleLimit != nil { _ = mailbox.add {} }
        if idleLimit != nil { _ = Self.take(&mailbox) }
        return (mailbox, wakes)
    }

    @Test
    func `a sleeping loop is woken once, by the first job`() {
        var (mailbox, wakes) = Self.running()
        let awake = [Self.add(&mailbox), Self.take(&mailbox), Self.take(&mailbox)]
        let asleep = [Self.add(&mailbox), Self.add(&mailbox), Self.take(&mailbox), Self.add(&mailbox)]
        #expect(awake == ["nothing", "work 1 0", "sleep"] && asleep == ["wake", "nothing", "work 2 0", "nothing"])
        #expect(wakes.withLock { $0 } == 1 && !mailbox.isDormant)
    }

    @Test
    func `a sleeping loop is woken by a timer that is the earliest, and sleeps until that`() {
        var (mailbox, wakes) = Self.running()
        let now = Moment.now
        let later = now + .seconds(100)
        let first = Self.add(&mailbox, due: later)
        let sleeping = Self.take(&mailbox)
        let others = [later + .seconds(1), later, now + .seconds(50)].map { Self.add(&mailbox, due: $0) }
        #expect(first.0 == "nothing" && sleeping == "sleep until")
        #expect(others.map(\.0) == ["nothing", "nothing", "wake"] && wakes.withLock { $0 } == 1)
        let due = Self.add(&mailbox, due: now)
        let taken = [Self.take(&mailbox), Self.take(&mailbox)]
        #expect(due.0 == "nothing" && taken == ["work 0 5", "work 0 5"])
        let isDue = (mailbox.takeTimer(now) != nil, mailbox.takeTimer(now) != nil)
        #expect(isDue == (true, false), "one was due")
        let cancelled = others[0].1.map { (mailbox.cancel($0) != nil, mailbox.cancel($0) != nil) }
        #expect(cancelled.map { $0 == (true, false) } == true)
        #expect(Self.take(&mailbox) == "sleep until")
    }

    @Test
    func `a loop without use ends its thread after its limit, unless something comes meanwhile`() {
        var (patient, _) = Self.running(idleLimit: .seconds(3_600))
        let waits = [
            Self.take(&patient), Self.take(&patient, isUsed: false), Self.add(&patient), Self.take(&patient),
        ]
        #expect(waits == ["sleep", "sleep until", "wake", "work 1 0"])
        var (mailbox, _) = Self.running(idleLimit: .zero)
        let used = Self.take(&mailbox)
        let unused = Self.take(&mailbox, isUsed: false)
        let late = [Self.add(&mailbox), "\(mailbox.putAway())", Self.take(&mailbox)]
        #expect(used == "sleep" && unused == "retire" && late == ["nothing", "again", "work 1 0"])
        let timer = Self.add(&mailbox, due: .now + .seconds(100))
        let kept = [Self.take(&mailbox, isUsed: false)]
        _ = timer.1.map { mailbox.cancel($0) }
        let ends = [Self.take(&mailbox, isUsed: false), "\(mailbox.putAway())", "\(mailbox.putAway())"]
        #expect(kept == ["sleep until"] && ends == ["retire", "rest", "leave"] && mailbox.isDormant)
        let again = (Self.add(&mailbox, due: .now + .seconds(100)), Self.add(&mailbox))
        #expect(again.0.0 == "start" && again.0.1 != nil && again.1 == "nothing" && !mailbox.isDormant)
    }

    @Test
    func `the limit of a loop without use begins anew with each use`() {
        func end(_ mailbox: inout LoopMailbox) -> Moment? {
            var work = LoopMailbox.Work()
            return if case .sleep(let end, _) = mailbox.take(into: &work, isUsed: false) { end } else { nil }
        }
        var (mailbox, _) = Self.running(idleLimit: .seconds(3_600))
        let (first, same) = (end(&mailbox), end(&mailbox))
        let start = Moment.now
        while Moment.now == start {}
        _ = Self.add(&mailbox)
        _ = Self.take(&mailbox)
        let second = end(&mailbox)
        while Moment.now == start {}
        let timer = Self.add(&mailbox, due: .now + .seconds(7_200))
        _ = Self.take(&mailbox)
        _ = timer.1.map { mailbox.cancel($0) }
        let third = end(&mailbox)
        #expect(first != nil && first == same && first != second && second != third)
    }

    private final class Witness: Sendable {}

    @Test
    func `a loop that has stopped lets go of its timers, and a turn of what it has done`() {
        var (mailbox, _) = Self.running()
        weak var kept: Witness?
        do {
            let witness = Witness()
            kept = witness
            _ = mailbox.add({ _ = witness }, due: .now + .seconds(100))
        }
        #expect(kept != nil)
        _ = mailbox.stopped()
        #expect(kept == nil)
        var work = LoopMailbox.Work()
        work.jobs = [{}]
        work.timers = (.now, 1)
        work.removeAll()
        #expect(work.jobs.isEmpty && work.timers == nil)
    }

    @Test
    func `a loop that stops takes no timer, and leaves its jobs to the thread that drains`() {
        var (mailbox, _) = Self.running()
        _ = Self.add(&mailbox, due: .now)
        let stops = [Self.word(mailbox.stop()), Self.word(mailbox.stop()), Self.add(&mailbox)]
        let timer = Self.add(&mailbox, due: .now)
        let taken = Self.take(&mailbox)
        let due = mailbox.takeTimer(.now) != nil
        #expect(stops == ["nothing", "nothing", "nothing"] && timer.0 == "nothing" && timer.1 == nil)
        #expect(taken == "stop" && !due)
        let ends = [Self.word(mailbox.stopped()), Self.add(&mailbox)]
        let left = [mailbox.takeLeft().count, mailbox.takeLeft().count]
        let after = [Self.add(&mailbox), Self.add(&mailbox)]
        #expect(ends == ["drain", "nothing"] && left == [2, 0] && after == ["drain", "nothing"])
        #expect(mailbox.reason.code == .loopStopped)
        var (quiet, _) = Self.running()
        let quiets = [Self.word(quiet.stop()), Self.word(quiet.stopped()), Self.add(&quiet)]
        #expect(quiets == ["nothing", "nothing", "drain"])
        var dormant = LoopMailbox(idleLimit: .zero)
        let sleeps = [Self.word(dormant.stop()), Self.add(&dormant)]
        #expect(sleeps == ["ended", "drain"])
    }

    @Test
    func `a loop without a thread leaves its jobs to the caller, once`() {
        var mailbox = LoopMailbox(idleLimit: .seconds(1))
        let early = mailbox.failedToStart()
        let first = Self.add(&mailbox)
        let fails = mailbox.failedToStart()
        let second = Self.add(&mailbox)
        #expect(!early && first == "start" && fails && second == "nothing")
        #expect(mailbox.reason.code == .unavailable)
        let left = [mailbox.takeLeft().count, mailbox.takeLeft().count]
        #expect(left == [2, 0] && mailbox.isDormant)
        let again = (Self.add(&mailbox), mailbox.failedToStart(), Self.word(mailbox.stop()), Self.add(&mailbox))
        #expect(again == ("start", true, "ended", "nothing"))
        var (running, _) = Self.running()
        let isRunning = running.failedToStart()
        #expect(!isRunning, "one that never ends its thread has one")
    }
}

@Suite("Bytes that wait to be sent")
struct WriteBufferTests {
    /// The bytes that may be sent next, all of which the system takes if it may.
    private static func next(_ buffer: inout WriteBuffer, taking limit: Int = .max) -> [UInt8] {
        var bytes: [UInt8] = []
        buffer.withNext { bytes = Array($0.prefix(limit)) }
        buffer.sent(bytes.count)
        return bytes
    }

    @Test
    func `leave in their order, at most 2 MiB at once, and stay until they are taken`() {
        var buffer = WriteBuffer()
        let bytes = (0..<(5000 << 10)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        _ = buffer.write { $0 += bytes[..<10] }
        let first = Self.next(&buffer, taking: 4)
        _ = buffer.write { $0 += bytes[10...] }
        #expect(first == Array(bytes[..<4]) && buffer.pendingBytes == bytes.count - 4)
        var (sent, sizes) = (first, [Int]())
        while buffer.pendingBytes > 0 {
            let piece = Self.next(&buffer)
            sent += piece
            sizes.append(piece.count)
        }
        #expect(sent == bytes && sizes == [6, 2 << 20, 2 << 20, (904 << 10) - 10])
        let rest = Self.next(&buffer)
        #expect(rest.isEmpty)
    }

    @Test
    func `are too many above the high-water mark, and few again once at the low-water mark`() {
        var buffer = WriteBuffer(lowWaterMark: 2, highWaterMark: 4)
        var areFull: [Bool] = []
        for _ in 0..<5 { areFull.append(buffer.write { $0.append(0) } == .acceptedAndFull) }
        #expect(areFull == [false, false, false, false, true])
        var writable: [Bool] = []
        for count in [0, 2, 1, 0] {
            _ = Self.next(&buffer, taking: count)
            writable.append(buffer.takeWritable())
        }
        #expect(writable == [false, false, true, false])
        _ = buffer.write { $0.append(0) }
        _ = Self.next(&buffer)
        let again = buffer.takeWritable()
        #expect(again, "it was above the low-water mark")
        _ = Self.next(&buffer)
        _ = buffer.write { $0 += [0, 0] }
        _ = Self.next(&buffer)
        let below = buffer.takeWritable()
        #expect(!below && buffer.pendingBytes == 0)
    }

    @Test
    func `are many above 64 KiB unless another mark is set`() {
        var buffer = WriteBuffer()
        var writable: [Bool] = []
        for count in [64 << 10, (64 << 10) + 1] {
            let acceptance = buffer.write { $0 += [UInt8](repeating: 0, count: count) }
            #expect(acceptance == .accepted)
            _ = Self.next(&buffer)
            writable.append(buffer.takeWritable())
        }
        #expect(writable == [false, true])
    }

    @Test
    func `are no more taken once it finishes, and none is left once it ends`() {
        var buffer = WriteBuffer()
        _ = buffer.write { $0 += [1, 2] }
        buffer.refuseMore()
        let refused = buffer.write { $0 += [3] }
        #expect(refused == .refused && buffer.pendingBytes == 2)
        buffer.end()
        let after = buffer.write { $0 += [3] }
        #expect(after == .refused && buffer.pendingBytes == 0 && Self.next(&buffer).isEmpty)
    }
}
