extension InspectorPage {
    static let style = #"""

        :root { --ground: #f6f7f9; --card: #fff; --ink: #1a1f27; --muted: #5b6472; --line: #d9dee6; --focus: #0b62d6;
          --blue: #1f6feb; --green: #1a7f43; --amber: #9a6200; --red: #c0262d; --violet: #7a3ff2; --fill: #1f6feb22;
          color-scheme: light dark; }
        @media (prefers-color-scheme: dark) { :root { --ground: #11151b; --card: #1a2029; --ink: #e8ecf2;
          --muted: #9aa5b5; --line: #2d3643; --focus: #78b0ff; --blue: #6aa8ff; --green: #4fc47f; --amber: #e0a640;
          --red: #ff7b7b; --violet: #b79bff; --fill: #6aa8ff26; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--ground); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
        header { display: flex; align-items: center; gap: 1rem; flex-wrap: wrap; padding: .75rem 1.25rem;
          background: var(--card); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 2; }
        h1 { font-size: 1.05rem; margin: 0; } h1 span { font-weight: 400; color: var(--muted); }
        h2 { font-size: .95rem; margin: 0 0 .5rem; } h2 small { font-weight: 400; color: var(--muted); }
        #feed { margin: 0; padding-left: 1.1rem; position: relative; color: var(--muted); }
        #feed::before { content: ""; position: absolute; left: 0; top: .35rem; width: .65rem; height: .65rem;
          border-radius: 50%; background: var(--amber); }
        #feed[data-state=open]::before { background: var(--green); }
        #feed[data-state=closed]::before { background: var(--red); border-radius: 2px; }
        .actions { margin-left: auto; display: flex; gap: .5rem; }
        button, input, select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
          border-radius: 6px; padding: .3rem .65rem; }
        button { cursor: pointer; } button:hover { border-color: var(--muted); }
        button[aria-pressed=true], [role=tab][aria-selected=true] { border-color: var(--blue);
          box-shadow: inset 0 0 0 1px var(--blue); }
        :focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
        main { display: grid; grid-template-columns: minmax(0, 3fr) minmax(18rem, 2fr); gap: 1rem; padding: 1rem 1.25rem;
          max-width: 1500px; margin: 0 auto; }
        section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .85rem 1rem;
          min-width: 0; }
        .wide, .figures { grid-column: 1 / -1; }
        .figures dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0; }
        .figures dt { color: var(--muted); font-size: .8rem; } .figures dd { margin: 0; font-size: 1.25rem;
          font-variant-numeric: tabular-nums; }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: .9rem; }
        figure { margin: 0; } figcaption { display: flex; justify-content: space-between; font-size: .8rem;
          color: var(--muted); } figcaption b { color: var(--ink); font-variant-numeric: tabular-nums; }
        svg { display: block; width: 100%; } svg.chart { height: 76px; border-bottom: 1px solid var(--line); }
        .line { fill: none; stroke: var(--blue); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
        .line.two { stroke: var(--violet); stroke-dasharray: 4 2; } .void { fill: var(--red); opacity: .13; }
        .toolbar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0 0 .6rem; }
        .scroll { overflow: auto; max-height: 24rem; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
        th { position: sticky; top: 0; background: var(--card); font-weight: 600; font-size: .8rem; color: var(--muted); }
        td.n, th.n { text-align: right; white-space: nowrap; } td.w { overflow-wrap: anywhere; }
        tr[aria-selected=true] { background: var(--fill); }
        #connections td:first-child { width: 45%; }
        td button { border: 0; padding: 0; background: none; text-align: left; overflow-wrap: anywhere;
          text-decoration: underline; text-decoration-color: var(--line); text-underline-offset: 3px; }
        input[type=search] { width: 22rem; max-width: 100%; } #find-connection { margin-bottom: .5rem; }
        .state { white-space: nowrap; } .state::before { content: "●"; margin-right: .35rem; color: var(--muted); }
        .state[data-state=connected], .state[data-state=ready] { color: var(--green); }
        .state[data-state=connected]::before, .state[data-state=ready]::before { color: var(--green); }
        .state[data-state=reconnecting], .state[data-state=created] { color: var(--amber); }
        .state[data-state=reconnecting]::before { content: "◐"; color: var(--amber); }
        .state[data-state=disconnected], .state[data-state=failed], .bad { color: var(--red); }
        .state[data-state=disconnected]::before, .state[data-state=failed]::before { content: "■"; color: var(--red); }
        .why { margin: 0 0 .5rem; } .countdown { font-size: 1.15rem; margin: 0 0 .5rem; color: var(--amber);
          font-variant-numeric: tabular-nums; }
        .facts { display: grid; grid-template-columns: auto 1fr; gap: .15rem 1rem; margin: 0; }
        .facts dt { color: var(--muted); } .facts dd { margin: 0; overflow-wrap: anywhere; }
        fieldset { margin: .8rem 0 0; border: 1px dashed var(--line); border-radius: 8px; display: flex; flex-wrap: wrap;
          gap: .4rem; } fieldset[hidden] { display: none; } legend { color: var(--muted); font-size: .8rem; }
        .legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; list-style: none; padding: 0; margin: .5rem 0 0;
          font-size: .8rem; color: var(--muted); }
        .legend li::before { content: ""; display: inline-block; width: .8rem; height: .6rem; margin-right: .35rem;
          background: var(--muted); border-radius: 2px; }
        [data-kind=connected]::before { background: var(--green) !important; }
        [data-kind=connecting]::before { background: var(--blue) !important; }
        [data-kind=reconnecting]::before { background: var(--amber) !important; }
        [data-kind=disconnected]::before { background: var(--red) !important; }
        [data-kind=gap]::before, [data-kind=moved]::before { background: var(--violet) !important; }
        [data-kind=moved]::before { border-radius: 50% !important; }
        .s-connected { fill: var(--green); } .s-connecting { fill: var(--blue); } .s-reconnecting { fill: var(--amber); }
        .s-disconnected { fill: var(--red); } .s-created { fill: var(--line); } .s-mark { fill: var(--violet); }
        #timeline text { fill: var(--ink); font-size: 11px; } #timeline .grid { stroke: var(--line); }
        .muted { color: var(--muted); } .quiet { position: absolute; width: 1px; height: 1px; overflow: hidden;
          clip-path: inset(50%); }
        .skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 3;
          background: var(--card); padding: .4rem .8rem; }
        #notice { margin: .8rem 1.25rem 0; padding: .5rem .8rem; border: 1px solid var(--red); border-radius: 8px; }
        [role=tablist] { display: flex; gap: .4rem; flex-wrap: wrap; margin-bottom: .6rem; }
        code { font: 12px ui-monospace, monospace; color: var(--muted); overflow-wrap: anywhere; }
        @media (max-width: 60rem) { main { grid-template-columns: minmax(0, 1fr); } }
        @media (prefers-reduced-motion: no-preference) { #feed[data-state=opening]::before {
          animation: pulse 1.2s infinite; } @keyframes pulse { 50% { opacity: .3; } } }

        """#
}
