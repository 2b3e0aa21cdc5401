import LinkspanDevServer

/// The chat in a browser: a page of our own that speaks the raw-WebSocket protocol of PROTOCOL.md without any library.
enum ChatPage {
    /// The page for the path `/` of the server, its style and its script.
    static var pages: [String: DevServerConfiguration.Page] {
        let document = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>Linkspan chat</title>
            <link rel="icon" href="data:,">
            <link rel="stylesheet" href="/chat.css">
            <script src="/chat.js" defer></script>
            </head>
            \(Self.body)
            </html>
            """
        return ["/": document, "/chat.css": Self.style, "/chat.js": Self.script].mapValues { text in
            var page = DevServerConfiguration.Page(html: text)
            page.policy =
                "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self' ws: wss:; "
                + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            return page
        }
    }

    private static let body = #"""
        <body>
        <header>
          <h1>Linkspan chat <span id="room-name"></span></h1>
          <p id="status" role="status" data-state="out">not connected</p>
        </header>
        <form id="entry" aria-labelledby="entry-title">
          <h2 id="entry-title">Come in</h2>
          <label>Your name <input id="name" maxlength="64" autocomplete="nickname" required></label>
          <label>Room <input id="room" maxlength="64" value="lobby" required></label>
          <button>Enter</button>
          <p id="refusal" role="alert"></p>
          <p class="about">What you write while the server is away is sent when it is back. A sample of Linkspan, a messaging
            SDK for Swift.</p>
        </form>
        <main id="chat" hidden>
          <section aria-label="Messages" id="messages" tabindex="0" role="log" aria-live="polite"><ol id="lines"></ol></section>
          <aside aria-labelledby="people-title"><h2 id="people-title">In the room</h2><ul id="people"></ul></aside>
          <p id="typing" aria-live="off"></p>
          <form id="say">
            <label class="quiet" for="text">Message</label>
            <input id="text" maxlength="8192" autocomplete="off" placeholder="Write a message">
            <button>Send</button>
          </form>
        </main>
        </body>
        """#

    private static let style = #"""

        :root { --ground: #f5f6f8; --card: #fff; --ink: #1a1f27; --muted: #5b6472; --line: #d9dee6; --own: #dfeaff;
          --focus: #0b57c0; --green: #1a7f43; --amber: #7a4d00; --red: #c0262d; color-scheme: light dark; }
        @media (prefers-color-scheme: dark) { :root { --ground: #11151b; --card: #1a2029; --ink: #e8ecf2; --muted: #9aa5b5;
          --line: #2d3643; --own: #1e3355; --focus: #78b0ff; --green: #4fc47f; --amber: #e0a640; --red: #ff7b7b; } }
        * { box-sizing: border-box; }
        body { margin: 0; height: 100dvh; display: flex; flex-direction: column; background: var(--ground);
          color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
        header { display: flex; justify-content: space-between; align-items: center; flex-wrap: wrap; gap: 0 1rem; padding: .7rem 1.1rem;
          background: var(--card); border-bottom: 1px solid var(--line); }
        h1 { font-size: 1.05rem; margin: 0; } h1 span { color: var(--muted); font-weight: 400; }
        h2 { font-size: .9rem; margin: 0 0 .4rem; color: var(--muted); }
        #status { margin: 0; color: var(--muted); } #status::before { content: "● "; color: var(--muted); }
        #status[data-state=in]::before { color: var(--green); } #status[data-state=down]::before { content: "◐ ";
          color: var(--amber); }
        input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
          border-radius: 7px; padding: .45rem .7rem; }
        button { cursor: pointer; } :focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
        #entry { margin: 12vh auto 0; width: min(22rem, 92vw); display: grid; gap: .8rem; padding: 1.3rem;
          background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
        #entry label { display: grid; gap: .2rem; color: var(--muted); } #entry[hidden], main[hidden] { display: none; }
        #refusal { color: var(--red); margin: 0; min-height: 1.4em; }
        main { flex: 1; min-height: 0; display: grid; grid-template: minmax(0, 1fr) auto auto / minmax(0, 1fr) 12rem;
          gap: .4rem 1rem; padding: .8rem 1.1rem; width: 100%; max-width: 1100px; margin: 0 auto; }
        #messages { overflow: auto; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
          padding: .7rem .9rem; }
        ol, ul { list-style: none; margin: 0; padding: 0; } #lines li { margin: 0 0 .45rem; overflow-wrap: anywhere;
          white-space: pre-wrap; }
        #lines b { margin-right: .5rem; } #lines li.own { background: var(--own); border-radius: 8px; padding: .15rem .5rem; }
        #lines li::before { content: attr(data-time); color: var(--muted); font-size: .8em; margin-right: .6rem; }
        #lines li.waiting { font-style: italic; } #lines li.waiting::after { content: " · waiting"; color: var(--amber); }
        a { color: var(--focus); } .about { margin: 0; color: var(--muted); font-size: .85rem; }
        #lines li.failed::after { content: " · not taken"; color: var(--red); }
        #lines li.note { color: var(--muted); font-style: italic; } #lines li.direct { font-weight: 600; }
        #typing { grid-column: 1 / -1; margin: 0; min-height: 1.4em; color: var(--muted); font-size: .9rem; }
        #say { grid-column: 1 / -1; display: flex; gap: .5rem; } #say input { flex: 1; }
        .quiet { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
        @media (max-width: 42rem) { main { grid-template: auto minmax(0, 1fr) auto auto / minmax(0, 1fr); padding: .6rem; }
          aside { grid-row: 1; color: var(--muted); max-height: 4.5em; overflow: auto; } aside h2, aside ul, aside li {
          display: inline; margin: 0; } aside h2::after { content: ": "; } aside li + li::before { content: ", "; } }

        """#
}
