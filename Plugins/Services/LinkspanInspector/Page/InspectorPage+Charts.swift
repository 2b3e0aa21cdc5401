extension InspectorPage {
    /// The charts and the time line, as SVG with text alternatives.
    static let charts = #"""

        const SVG = 'http://www.w3.org/2000/svg';
        const draw = (name, attributes, parent) => {
          const element = document.createElementNS(SVG, name);
          for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
          if (parent) parent.append(element);
          return element;
        };
        const ms = (value) => value === null || value === undefined ? '–'
          : value >= 1000 ? `${(value / 1000).toFixed(1)} s` : value >= 10 ? `${value.toFixed(0)} ms`
          : `${value.toFixed(2)} ms`;
        const size = (value) => value >= 1 << 20 ? `${(value / (1 << 20)).toFixed(1)} MiB`
          : value >= 1024 ? `${(value / 1024).toFixed(1)} KiB` : `${value} B`;
        const count = (value) => Math.round(value || 0).toLocaleString('en');

        const CHARTS = [
          { id: 'round-trip', name: 'Time to a reply, round trip of a heartbeat (dashed)', of: (p) => p.reply,
            two: (p) => p.roundTrip, show: ms },
          { id: 'throughput', name: 'Messages a second: received, sent (dashed)', of: (p) => p.received,
            two: (p) => p.sent, show: count },
          { id: 'queue', name: 'Waiting, in flight (dashed)', of: (p) => p.waiting, two: (p) => p.inFlight, show: count },
          { id: 'outbox', name: 'Outbox: deliveries without an outcome', of: (p) => p.outbox, show: count, ifAny: true },
          { id: 'oldest', name: 'Oldest without an outcome', of: (p) => p.oldest, show: ms },
          { id: 'turn', name: "Turn of the connections' loops", of: (p) => p.turn, show: ms },
          { id: 'memory', name: 'Memory of the process', of: (p) => p.memory, show: size, all: true },
        ];
        for (const chart of CHARTS) {
          const figure = make('figure', null, { id: `chart-${chart.id}` });
          const caption = make('figcaption');
          caption.append(make('span', chart.name), chart.value = make('b', '–'));
          chart.svg = draw('svg', { class: 'chart', viewBox: '0 0 300 76', preserveAspectRatio: 'none', role: 'img' });
          figure.append(caption, chart.svg);
          chart.figure = figure;
          figure.hidden = !!chart.ifAny;
          $('charts').append(figure);
        }

        const isValue = (value) => value !== null && value !== undefined;

        /// A line with gaps where nothing was connected.
        function path(points, of, x, y) {
          let text = '';
          let isDown = false;
          for (const point of points) {
            const value = of(point);
            if (!isValue(value)) { isDown = isDown && point.connected !== 0; continue; }
            text += `${isDown ? 'L' : 'M'}${x(point.time).toFixed(1)} ${y(value).toFixed(1)}`;
            isDown = true;
          }
          return text;
        }

        /// The spans in which nothing was connected.
        function outages(points, now) {
          const spans = [];
          let since = null;
          for (const point of points) {
            if (point.connected === 0) since ??= point.time;
            else if (since !== null) { spans.push([since, point.time]); since = null; }
          }
          if (since !== null) spans.push([since, now]);
          return spans;
        }

        function renderCharts() {
          const now = appNow();
          const start = now - state.span * 1000;
          const own = state.isPicked && state.own.length > 1;
          $('chart-of').textContent = `${own ? `connection ${state.selected}` : 'all connections'}, last `
            + (state.span >= 3600 ? 'hour' : `${state.span / 60} minutes`);
          for (const chart of CHARTS) {
            const all = own && !chart.all ? state.own : state.points;
            const points = all.filter((point) => point.time >= start);
            const values = points.flatMap((p) => [chart.of(p), chart.two ? chart.two(p) : null])
              .filter(isValue);
            // Few apps have an outbox.
            if (chart.ifAny) chart.figure.hidden = values.length === 0;
            const top = Math.max(1e-9, ...values) * 1.1;
            const x = (t) => (t - start) / (state.span * 1000) * 300;
            const y = (value) => 74 - value / top * 70;
            const marks = chart.id === 'memory' ? [] : outages(points, now);
            chart.svg.replaceChildren();
            for (const [from, to] of marks) {
              draw('rect', { class: 'void', x: x(from), width: Math.max(1, x(to) - x(from)), y: 0, height: 76 },
                chart.svg);
            }
            draw('path', { class: 'line', d: path(points, chart.of, x, y) }, chart.svg);
            if (chart.two) draw('path', { class: 'line two', d: path(points, chart.two, x, y) }, chart.svg);
            const last = points.map(chart.of).filter(isValue).at(-1);
            const words = !isValue(last) || (points.at(-1).connected === 0 && !chart.all) ? '–' : chart.show(last);
            chart.value.textContent = words;
            chart.svg.dataset.gaps = marks.length;
            chart.svg.setAttribute('aria-label', `${chart.name}: now ${words}, at most `
              + `${values.length ? chart.show(Math.max(...values)) : '–'}; ${marks.length} gaps`);
          }
        }

        // MARK: The time line

        const LASTING = new Set(['connected', 'resumed', 'connecting', 'reconnecting', 'disconnected', 'created', 'moved',
          'released']);

        /// The history of each connection, from the events.
        function histories() {
          const lists = new Map();
          for (const event of state.events) {
            if (event.connection === undefined || !LASTING.has(event.kind)) continue;
            if (!lists.has(event.connection)) lists.set(event.connection, []);
            lists.get(event.connection).push(event);
          }
          return lists;
        }

        function renderTimeline() {
          const now = appNow();
          const width = Math.max(300, $('timeline').clientWidth);
          const start = now - state.span * 1000;
          const lists = histories();
          const ids = [...lists.keys()].sort((one, two) =>
            (two === state.selected) - (one === state.selected) || lists.get(two).at(-1).time - lists.get(one).at(-1).time)
            .slice(0, 10);
          const height = 22 + ids.length * 22;
          const left = 120;
          const x = (t) => left + Math.max(0, t - start) / (state.span * 1000) * (width - left - 8);
          const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, height });
          svg.style.height = `${height}px`;
          for (let part = 0; part <= 5; part += 1) {
            const at = left + part / 5 * (width - left - 8);
            draw('line', { class: 'grid', x1: at, x2: at, y1: 0, y2: height - 18 }, svg);
            const label = draw('text', { x: at, y: height - 5, 'text-anchor': part === 5 ? 'end' : 'middle' }, svg);
            const ago = state.span * (1 - part / 5);
            label.textContent = part === 5 ? 'now' : ago >= 120 ? `-${Math.round(ago / 60)} min` : `-${Math.round(ago)} s`;
          }
          ids.forEach((id, row) => renderHistory(svg, lists.get(id), id, row * 22, x, start, now));
          $('timeline').replaceChildren(svg);
          $('timeline').setAttribute('aria-label', ids.length === 0 ? 'No events of connections yet'
            : ids.map((id) => `connection ${id}: ${lists.get(id).at(-1).kind}`).join(', '));
        }

        function renderHistory(svg, list, id, y, x, start, now) {
          const row = state.connections.get(id);
          const label = draw('text', { x: 0, y: y + 13 }, svg);
          label.textContent = `#${id} ${row ? row.endpoint.replace(/^[a-z]+:\/\//, '') : 'gone'}`.slice(0, 20);
          let wasConnected = false;
          list.forEach((event, index) => {
            const end = index + 1 < list.length ? list[index + 1].time : now;
            const kind = { resumed: 'connected', moved: 'disconnected' }[event.kind] || event.kind;
            if (kind !== 'released' && end >= start) {
              const from = Math.max(start, event.time);
              draw('rect', { class: `s-${kind}`, x: x(from), y: y + 4, width: Math.max(1.5, x(end) - x(from)), height: 12,
                rx: 2 }, svg);
            }
            if (event.time >= start && event.kind === 'connected' && wasConnected) mark(svg, x(event.time), y, false);
            if (event.time >= start && event.kind === 'moved') mark(svg, x(event.time), y, true);
            if (kind === 'connected') wasConnected = true;
          });
        }

        /// A gap is a diamond, a move a disc.
        function mark(svg, x, y, isMove) {
          if (isMove) draw('circle', { class: 's-mark', cx: x, cy: y + 10, r: 4.5 }, svg);
          else draw('path', { class: 's-mark', d: `M${x} ${y + 3}l5 7l-5 7l-5 -7z` }, svg);
        }

        """#
}
