internal import LinkspanNetwork

/// The inspector's page: HTML, style and script of our own in one document, which loads nothing else.
///
/// It stands in the program as text, so that an executable needs no files beside it.
enum InspectorPage {
    /// Makes the answer that has the page.
    ///
    /// - Parameters:
    ///   - key: the key of the session that has just begun, which the page keeps in its tab; nil for a page that has it.
    ///   - port: the inspector's port, which the page may connect to.
    /// - Returns: the answer.
    static func response(key: String?, port: Int) -> HTTPResponse {
        let nonce = InspectorAccess.randomKey()
        let document = Self.document(key: key ?? "", nonce: nonce)
        let policy =
            "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; "
            + "connect-src 'self' ws://127.0.0.1:\(port) ws://localhost:\(port); img-src data:; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'"
        return HTTPResponse(
            status: 200,
            fields: [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy)],
            body: Array(document.utf8))
    }

    static func document(key: String, nonce: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="session" content="\(key)">
        <title>Linkspan inspector</title>
        <link rel="icon" href="data:,">
        <style nonce="\(nonce)">\(Self.style)</style>
        </head>
        \(Self.body)
        <script nonce="\(nonce)">\(Self.model)\(Self.charts)\(Self.views)</script>
        </html>
        """
    }

    private static let body = #"""
        <body>
        <a class="skip" href="#connections">Skip to the connections</a>
        <header>
          <h1>Linkspan <span>inspector</span></h1>
          <p id="feed" role="status" data-state="opening">Connecting to the app …</p>
          <div class="actions">
            <button id="freeze" type="button" aria-pressed="false">Freeze</button>
            <button id="report" type="button">Download report</button>
          </div>
        </header>
        <div id="notice" role="alert" hidden></div>
        <div class="quiet" aria-live="polite" id="live"></div>
        <main>
          <section class="figures" aria-label="Totals">
            <dl id="figures"></dl>
          </section>
          <section aria-labelledby="h-connections" id="connections" tabindex="-1">
            <div class="bar">
              <h2 id="h-connections">Connections <small id="connection-count"></small></h2>
              <input id="find-connection" type="search" placeholder="Filter by endpoint, state, transport"
                aria-label="Filter connections">
            </div>
            <div class="scroll" tabindex="0" role="region" aria-label="Table of connections">
            <table>
              <thead><tr><th scope="col">Connection</th><th scope="col">State</th><th scope="col">Transport</th>
                <th scope="col" class="n">Round trip</th><th scope="col" class="n">Messages waiting</th>
                <th scope="col" class="n">In flight</th><th scope="col" class="n">In all</th></tr></thead>
              <tbody id="connection-rows"></tbody>
            </table>
            </div>
          </section>
          <section aria-labelledby="h-detail" id="detail">
            <h2 id="h-detail">Details</h2>
            <p id="why" class="why">Choose a connection.</p>
            <p id="countdown" class="countdown" hidden></p>
            <dl id="facts" class="facts"></dl>
          </section>
          <section aria-labelledby="h-charts">
            <div class="bar">
              <h2 id="h-charts">Charts <small id="chart-of">all connections</small></h2>
              <div class="toolbar" role="group" aria-label="Span of the charts and the time line">
                <button type="button" data-span="300" aria-pressed="true">5 min</button>
                <button type="button" data-span="900" aria-pressed="false">15 min</button>
                <button type="button" data-span="3600" aria-pressed="false">1 hour</button>
              </div>
            </div>
            <div class="charts" id="charts"></div>
          </section>
          <section aria-labelledby="h-time">
            <h2 id="h-time">Time line <small>states, attempts, gaps and moves</small></h2>
            <div id="timeline" class="plot"><svg id="histories" role="img" tabindex="0"></svg></div>
            <ul class="legend" aria-hidden="true">
              <li data-kind="connected">connected</li><li data-kind="reconnecting">trying again</li>
              <li data-kind="connecting">an attempt begins</li><li data-kind="disconnected">down</li>
              <li data-kind="gap">gap: a new session after a loss, messages may be missing</li>
              <li data-kind="move">move to another transport or endpoint</li>
            </ul>
          </section>
          <section aria-labelledby="h-faults" id="faults" class="danger" hidden>
            <h2 id="h-faults"><span aria-hidden="true">⚠</span> Faults</h2>
            <p>For tests only: each button disturbs the running app, and its users notice.</p>
            <div class="toolbar" role="group" aria-labelledby="fault-of">
              <span id="fault-of">Chosen connection</span>
              <button type="button" data-do="drop">Drop the link</button>
              <button type="button" data-do="pause">Pause reading</button>
              <button type="button" data-do="resume">Resume reading</button>
              <button type="button" data-do="refuse">Refuse credentials once</button>
            </div>
            <div class="toolbar" role="group" aria-labelledby="fault-all">
              <span id="fault-all">Whole app</span>
              <button type="button" data-do="pathLost">Lose the network path</button>
              <button type="button" data-do="pathBack">Restore the path</button>
              <span id="moves"></span>
            </div>
          </section>
          <section class="tabs">
            <div role="tablist" aria-label="Lists">
              <button role="tab" id="t-frames" aria-controls="p-frames" aria-selected="true">Frames</button>
              <button role="tab" id="t-events" aria-controls="p-events" aria-selected="false" tabindex="-1">Events</button>
              <button role="tab" id="t-services" aria-controls="p-services" aria-selected="false" tabindex="-1"
                >Services</button>
              <button role="tab" id="t-settings" aria-controls="p-settings" aria-selected="false" tabindex="-1"
                >Configuration</button>
            </div>
            <div class="toolbar">
              <input id="find" type="search" placeholder="Filter and search" aria-label="Filter the list">
              <label id="direction-of">Direction <select id="direction"><option value="">all</option>
                <option value="sent">sent</option><option value="received">received</option>
                <option value="answered">answered</option><option value="failed">failed</option></select></label>
              <label id="only-of"><input id="only" type="checkbox"> only the chosen connection</label>
              <span id="sampled" class="muted"></span>
            </div>
            <div role="tabpanel" id="p-frames" aria-labelledby="t-frames" tabindex="0" class="scroll">
              <table><thead><tr><th scope="col">Time</th><th scope="col">Direction</th><th scope="col">Event</th>
                <th scope="col" class="n">Size</th><th scope="col" class="n">Reply after</th>
                <th scope="col">Connection</th></tr></thead><tbody></tbody></table></div>
            <div role="tabpanel" id="p-events" aria-labelledby="t-events" tabindex="0" class="scroll" hidden>
              <table><thead><tr><th scope="col">Time</th><th scope="col">Kind</th><th scope="col">Event</th></tr></thead>
              <tbody></tbody></table></div>
            <div role="tabpanel" id="p-services" aria-labelledby="t-services" tabindex="0" class="scroll" hidden>
              <table><thead><tr><th scope="col">Service</th><th scope="col">Phase</th><th scope="col">State</th>
                <th scope="col" class="n">Events in mailbox</th><th scope="col" class="n">Delivered</th>
                <th scope="col" class="n">Lost</th><th scope="col" class="n">Slow calls</th>
                <th scope="col" class="n">Faults</th></tr></thead><tbody></tbody></table></div>
            <div role="tabpanel" id="p-settings" aria-labelledby="t-settings" tabindex="0" class="scroll" hidden>
              <table><thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">Origin</th></tr></thead>
              <tbody></tbody></table></div>
          </section>
        </main>
        </body>
        """#
}
