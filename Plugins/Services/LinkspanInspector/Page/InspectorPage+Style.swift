extension InspectorPage {
    static let style = #"""

        :root { --ground: #f5f6f8; --card: #fff; --ink: #1a1f27; --muted: #566070; --line: #dde2ea; --focus: #0b62d6;
          --blue: #1f6feb; --green: #17763d; --amber: #8f5a00; --red: #bd2029; --violet: #6d35e0; --rose: #b3187e;
          --fill: #e9f1fe; --warn: #fdf6e7; color-scheme: light dark; }
        @media (prefers-color-scheme: dark) { :root { --ground: #10141a; --card: #191f28; --ink: #e8ecf2; --muted: #a1acbb;
          --line: #2c3542; --focus: #78b0ff; --blue: #6aa8ff; --green: #4fc47f; --amber: #e3ab4a; --red: #ff8080;
          --violet: #b79bff; --rose: #ff8ad0; --fill: #1d2c44; --warn: #262015; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--ground); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
        header { display: flex; align-items: center; gap: .5rem 1rem; flex-wrap: wrap; padding: .7rem 1.25rem;
          background: var(--card); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 2; }
        h1 { font-size: 1.05rem; margin: 0; } h1 span { font-weight: 400; color: var(--muted); }
        h2 { font-size: 1rem; margin: 0; } h2 small { font-weight: 400; color: var(--muted); margin-left: .35rem; }
        h3 { font-size: .85rem; font-weight: 600; margin: 0; flex-basis: 100%; }
        section > h2 { margin-bottom: .5rem; }
        #feed { margin: 0; padding-left: 1.1rem; position: relative; color: var(--muted); }
        #feed::before { content: ""; position: absolute; left: 0; top: .35rem; width: .65rem; height: .65rem;
          border-radius: 50%; background: var(--amber); }
        #feed[data-state=open]::before { background: var(--green); }
        #feed[data-state=closed] { color: var(--red); font-weight: 600; }
        #feed[data-state=closed]::before { background: var(--red); border-radius: 2px; }
        .actions { margin-left: auto; display: flex; gap: .5rem; }
        button, input, select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
          border-radius: 6px; padding: .3rem .65rem; }
        ::placeholder { color: var(--muted); opacity: 1; }
        button { cursor: pointer; } button:hover { border-color: var(--muted); }
        button[aria-pressed=true], [role=tab][aria-selected=true] { border-color: var(--blue);
          box-shadow: inset 0 0 0 1px var(--blue); }
        :focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
        main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem 1.25rem; max-width: 1500px;
          margin: 0 auto; }
        section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1.1rem;
          min-width: 0; }
        .bar, .toolbar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
        .bar { justify-content: space-between; margin-bottom: .6rem; } .tabs .toolbar { margin-bottom: .6rem; }
        dl { display: grid; gap: .7rem 1.5rem; margin: 0; } dd { margin: 0; font-variant-numeric: tabular-nums; }
        dt, dd + dd { color: var(--muted); font-size: .8rem; }
        .figures dl { grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); }
        .figures dt + dd { font-size: 1.35rem; line-height: 1.3; }
        .facts { grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
        .facts dd { overflow-wrap: anywhere; }
        .why { margin: 0 0 .7rem; max-width: 60rem; }
        .countdown { font-size: 1.15rem; margin: 0 0 .7rem; color: var(--amber); font-variant-numeric: tabular-nums; }
        .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.1rem 1.5rem; }
        figure { margin: 0; min-width: 0; } figcaption { display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .8rem; }
        .key { color: var(--muted); white-space: nowrap; } .key b { color: var(--ink); font-variant-numeric: tabular-nums; }
        .key::before { content: ""; display: inline-block; width: 1.1rem; vertical-align: middle; margin-right: .35rem;
          border-top: 2px solid var(--blue); }
        .key.two::before { border-top: 2px dashed var(--violet); }
        .plot { position: relative; touch-action: pan-y; } svg { display: block; width: 100%; border-radius: 4px; }
        svg text { fill: var(--muted); font-size: 11px; font-variant-numeric: tabular-nums; }
        svg text.down { fill: var(--red); } svg text.named { fill: var(--ink); }
        .grid { stroke: var(--line); } .cross { stroke: var(--ink); stroke-dasharray: 2 2; }
        .line { fill: none; stroke: var(--blue); stroke-width: 1.75; stroke-linejoin: round; } .dot { fill: var(--blue); }
        .line.two { stroke: var(--violet); stroke-dasharray: 5 3; } .dot.two { fill: var(--violet); }
        .void { fill: var(--red); fill-opacity: .1; }
        path.gap { fill: var(--rose); stroke: var(--card); } path.move { fill: var(--violet); stroke: var(--card); }
        line.gap { stroke: var(--rose); } line.move { stroke: var(--violet); stroke-dasharray: 5 3; }
        .tip { position: absolute; top: 1.2rem; z-index: 1; margin-left: .6rem; padding: .3rem .55rem; white-space: pre;
          pointer-events: none; background: var(--card); border: 1px solid var(--muted); border-radius: 6px; font-size: .8rem;
          font-variant-numeric: tabular-nums; }
        .tip.before { translate: -100% 0; margin-left: -.6rem; }
        .scroll { overflow: auto; max-height: 24rem; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
        th { position: sticky; top: 0; background: var(--card); font-weight: 600; font-size: .8rem; color: var(--muted);
          white-space: nowrap; }
        td.n, th.n { text-align: right; white-space: nowrap; } td.w { overflow-wrap: anywhere; }
        tr[aria-selected=true] { background: var(--fill); }
        td button { border: 0; padding: 0; background: none; text-align: left; overflow-wrap: anywhere;
          text-decoration: underline; text-decoration-color: var(--muted); text-underline-offset: 3px; }
        input[type=search] { width: 20rem; max-width: 100%; }
        .state { white-space: nowrap; } .state::before { content: "●"; margin-right: .35rem; color: var(--muted); }
        .state[data-state=connected], .state[data-state=connected]::before { color: var(--green); }
        .state[data-state=reconnecting], .state[data-state=created] { color: var(--amber); }
        .state[data-state=reconnecting]::before { content: "◐"; color: var(--amber); }
        .state[data-state=disconnected], .bad { color: var(--red); }
        .state[data-state=disconnected]::before { content: "■"; color: var(--red); }
        .danger { border: 2px dashed var(--amber); background: var(--warn); } .danger h2 { color: var(--amber); }
        .danger p { margin: 0 0 .6rem; } .danger .toolbar + .toolbar { margin-top: .5rem; }
        .danger .toolbar > span:first-child { flex: 0 0 9rem; color: var(--muted); } #moves { display: contents; }
        .legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; padding: 0; margin: .5rem 0 0;
          font-size: .8rem; color: var(--muted); }
        .legend li::before { content: ""; display: inline-block; width: 16px; height: 14px; margin-right: .4rem;
          background: var(--green); vertical-align: bottom; }
        .legend [data-kind=connecting]::before { background: var(--blue); width: 3px; height: 12px; }
        .legend [data-kind=reconnecting]::before { background: var(--amber); height: 6px; }
        .legend [data-kind=disconnected]::before { background: var(--red); height: 3px; }
        .legend [data-kind=gap]::before, .legend [data-kind=move]::before { background: none; vertical-align: baseline; width: auto;
          content: "◆"; color: var(--rose); height: auto; }
        .legend [data-kind=move]::before { content: "▶"; color: var(--violet); }
        .s-connected { fill: var(--green); } .s-connecting { fill: var(--blue); } .s-reconnecting { fill: var(--amber); }
        .s-disconnected { fill: var(--red); } .s-created { fill: var(--muted); }
        .muted { color: var(--muted); } .quiet { position: absolute; width: 1px; height: 1px; overflow: hidden;
          clip-path: inset(50%); }
        .skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 3;
          background: var(--card); padding: .4rem .8rem; }
        #notice { margin: .8rem 1.25rem 0; padding: .5rem .8rem; border: 1px solid var(--red); border-radius: 8px; }
        [role=tablist] { display: flex; gap: .4rem; flex-wrap: wrap; margin-bottom: .6rem; }
        @media (max-width: 40rem) { header { position: static; padding: .7rem 1rem; } main { padding: .75rem; gap: .75rem; }
          section { padding: .8rem .9rem; } .figures dl, .facts { grid-template-columns: 1fr 1fr; }
          .danger .toolbar > span:first-child { flex-basis: 100%; } input[type=search] { width: 100%; }
          thead { position: absolute; clip-path: inset(50%); }
          tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.2rem; padding: .5rem .4rem;
            border-bottom: 1px solid var(--line); }
          table, tbody { display: block; } td { display: flex; justify-content: space-between; gap: .6rem; border: 0;
            padding: .05rem 0; min-width: 0; } td:not(.w) { white-space: nowrap; }
          td::before { content: attr(data-label); color: var(--muted); } td:empty { display: none; }
          td:first-child, td.w { grid-column: 1 / -1; justify-content: start; } td:first-child::before { content: none; } }
        @media (prefers-reduced-motion: no-preference) { #feed[data-state=opening]::before {
          animation: pulse 1.2s infinite; } @keyframes pulse { 50% { opacity: .3; } } }

        """#
}
