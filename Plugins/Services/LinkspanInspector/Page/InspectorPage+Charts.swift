extension InspectorPage {
    /// The charts and the time line, as SVG with text alternatives.
    static let charts = #"""

        const SVG = 'http://www.w3.org/2000/svg';
        const draw = (name, attributes, parent, text) => {
          const element = document.createElementNS(SVG, name);
          for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
          if (text) element.textContent = text;
          parent.append(element);
          return element;
        };
        const isValue = (value) => value !== null && value !== undefined;
        const trim = (value, places) => (+value.toFixed(places)).toLocaleString('en');
        const ms = (value) => !isValue(value) ? '–' : value >= 120000 ? `${trim(value / 60000, 0)} min`
          : value >= 1000 ? `${trim(value / 1000, 1)} s` : `${trim(value, value >= 10 ? 0 : 2)} ms`;
        const size = (value) => value >= 1 << 20 ? `${trim(value / (1 << 20), 1)} MiB`
          : value >= 1024 ? `${trim(value / 1024, 1)} KiB` : `${value} B`;
        const count = (value) => Math.round(value || 0).toLocaleString('en');
        const many = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
        const messages = (value) => many(value, 'message');
        const rate = (value) => `${trim(value, 1)} /s`;

        const CHARTS = [
          { id: 'round-trip', name: 'Time to a reply', show: ms, least: 1,
            series: [['reply', (p) => p.reply], ['heartbeat', (p) => p.roundTrip]] },
          { id: 'throughput', name: 'Messages per second', show: rate, least: 2,
            series: [['received', (p) => p.received], ['sent', (p) => p.sent]] },
          { id: 'queue', name: 'Queue, in messages', show: messages, axis: count, least: 2,
            series: [['waiting', (p) => p.waiting], ['in flight', (p) => p.inFlight]] },
          { id: 'outbox', name: 'Outbox, in messages', show: messages, axis: count, least: 2, ifAny: true,
            series: [['without an outcome', (p) => p.outbox]] },
          { id: 'oldest', name: 'Age of the oldest message', show: ms, least: 10,
            series: [['without an outcome', (p) => p.oldest]] },
          { id: 'turn', name: 'Latency of the event loops', show: ms, least: 1, series: [['slowest', (p) => p.turn]] },
          { id: 'memory', name: 'Memory of the process', show: size, unit: 1 << 20, least: 1, all: true,
            series: [['resident', (p) => p.memory]] },
        ];
        const EDGE = { right: 12, top: 16, bottom: 20 };
        const HEIGHT = 136;
        // The gaps and moves, found once for each drawing.
        let marks = [];

        for (const chart of CHARTS) {
          const figure = make('figure', null, { id: `chart-${chart.id}` });
          const caption = make('figcaption');
          caption.append(make('h3', chart.name));
          for (const [place, one] of chart.series.entries()) {
            const key = make('span', `${one[0]} `, { class: place ? 'key two' : 'key' });
            key.append(one.value = make('b', '–'), one.age = make('small'));
            caption.append(key);
          }
          Object.assign(chart, { left: 58, box: make('div', null, { class: 'plot' }) });
          chart.svg = draw('svg', { role: 'img', tabindex: 0 }, chart.box);
          chart.words = (time) => {
            const point = nearest(chart.points, time);
            return chart.series.filter(([, of]) => point && isValue(of(point)))
              .map(([name, of]) => `${name}: ${chart.show(of(point))}`);
          };
          figure.append(caption, chart.box);
          figure.hidden = !!chart.ifAny;
          $('charts').append(chart.figure = figure);
        }

        /// The least round number that is not below a value.
        function roundUp(value) {
          const unit = 10 ** Math.floor(Math.log10(value));
          return [1, 1.5, 2, 3, 4, 6, 8, 10].find((factor) => factor * unit >= value) * unit;
        }

        /// The start of the time axis, which fits the recording until that fills the span.
        const axisStart = (points, now) =>
          Math.min(now - 10000, Math.max(now - state.span * 1000, points[0]?.time ?? now));

        /// Scales a view to its width and a time, and draws the time axis.
        function drawTimes(view, start, now, height) {
          const width = Math.max(200, view.box.clientWidth);
          Object.assign(view, { start, now, width, height });
          view.wide = width - view.left - EDGE.right;
          view.x = (time) => view.left + (Math.max(time, start) - start) / (now - start) * view.wide;
          view.svg.replaceChildren();
          view.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
          view.svg.style.height = `${height}px`;
          const step = 1000 * ([5, 10, 15, 30, 60, 120, 300, 600].find((seconds) =>
            (now - start) / 1000 / seconds * (seconds < 60 ? 80 : 54) <= view.wide) ?? 900);
          const shift = Date.now() - appNow();
          for (let time = Math.ceil((start + shift) / step) * step - shift; time <= now; time += step) {
            const at = view.x(time);
            draw('line', { class: 'grid', x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom }, view.svg);
            if (at < view.left + 24 || at > width - 26) continue;
            draw('text', { class: 'time', x: at, y: height - 6, 'text-anchor': 'middle' }, view.svg,
              clock(time + 1).slice(0, step < 60000 ? 8 : 5));
          }
        }

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
          const own = state.isPicked && state.own.length > 1;
          $('chart-of').textContent = own ? `connection ${state.selected}` : 'all connections';
          marks = findMarks();
          const shown = marks.filter((mark) => !own || mark.id === state.selected);
          for (const chart of CHARTS) {
            const all = own && !chart.all ? state.own : state.points;
            // Few apps have an outbox.
            if (chart.ifAny) chart.figure.hidden = !all.some((point) => isValue(chart.series[0][1](point)));
            if (!chart.figure.hidden) renderChart(chart, all, chart.all ? [] : shown, now);
          }
        }

        function renderChart(chart, all, marks, now) {
          const start = axisStart(all, now);
          const points = chart.points = all.filter((point) => point.time >= start);
          const values = points.flatMap((point) => chart.series.map(([, of]) => of(point))).filter(isValue);
          const unit = chart.unit ?? 1;
          const top = roundUp(Math.max(chart.least, ...values.map((value) => value / unit))) * unit;
          const base = HEIGHT - EDGE.bottom;
          const y = (value) => base - value / top * (base - EDGE.top);
          drawTimes(chart, start, now, HEIGHT);
          const { svg, x, width } = chart;
          const voids = chart.all ? [] : outages(points, now);
          for (const [from, to] of voids) {
            const wide = Math.max(2, x(to) - x(from));
            draw('rect', { class: 'void', x: x(from), width: wide, y: EDGE.top, height: base - EDGE.top }, svg);
            if (wide < 36) continue;
            const place = { x: x(from) + wide / 2, y: EDGE.top + 12, 'text-anchor': 'middle' };
            draw('text', { class: 'down', ...place }, svg, 'down');
          }
          for (const value of [0, top / 2, top]) {
            draw('line', { class: 'grid', x1: chart.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }, svg);
            if (chart.axis && value % 1) continue;
            const words = value ? (chart.axis || chart.show)(value) : '0';
            draw('text', { x: chart.left - 6, y: y(value) + 4, 'text-anchor': 'end' }, svg, words);
          }
          for (const one of marks) {
            if (one.time < start) continue;
            draw('line', { class: one.kind, x1: x(one.time), x2: x(one.time), y1: EDGE.top, y2: base }, svg);
            drawMark(svg, x(one.time), EDGE.top - 6, one.kind);
          }
          let words = chart.name;
          chart.series.forEach((one, place) => {
            const [name, of] = one;
            draw('path', { class: place ? 'line two' : 'line', d: path(points, of, x, y) }, svg);
            // The latest value stays, with its age, while nothing comes.
            const last = all.findLast((point) => isValue(of(point)));
            const age = last ? now - last.time : 0;
            one.value.textContent = last ? chart.show(of(last)) : '–';
            one.age.textContent = age > 3000 ? ` ${ms(Math.floor(age / 1000) * 1000)} ago` : '';
            if (last && last.time >= start) {
              draw('circle', { class: place ? 'dot two' : 'dot', cx: x(last.time), cy: y(of(last)), r: 2.5 }, svg);
            }
            words += `; ${name} ${one.value.textContent}${one.age.textContent}`;
          });
          svg.dataset.gaps = voids.length;
          svg.setAttribute('aria-label', `${words}; up to ${chart.show(top)}; ${many(voids.length, 'outage')}`);
        }

        // MARK: The time line

        // The height of a state tells it, too.
        const LASTING = { connected: 14, connecting: 6, reconnecting: 6, disconnected: 3, created: 3, released: 0 };
        const timeline = { left: 2, box: $('timeline'), svg: $('histories') };
        const views = [...CHARTS, timeline];
        timeline.words = (time) => [...histories()].slice(0, 8).map(([id, list]) => {
          const event = list.findLast((event) => event.time <= time);
          return event ? `#${id} ${event.kind === 'moved' ? 'moves' : event.kind}` : '';
        }).filter((words) => words);

        /// The history of each connection, from the events.
        function histories() {
          const lists = new Map();
          for (const event of state.events) {
            if (event.connection === undefined || !(lasting(event) in LASTING)) continue;
            if (!lists.has(event.connection)) lists.set(event.connection, []);
            lists.get(event.connection).push(event);
          }
          return lists;
        }

        /// The state in which an event leaves a connection.
        const lasting = (event) => ({ resumed: 'connected', moved: 'disconnected' })[event.kind] || event.kind;

        /// The gaps, where a new session follows a lost one, and the moves.
        function findMarks() {
          const found = [];
          for (const [id, list] of histories()) {
            let isLost = false;
            for (const { kind, time } of list) {
              if (kind === 'moved') found.push({ id, time, kind: 'move' });
              if (kind === 'connected' && isLost) found.push({ id, time, kind: 'gap' });
              if (['connected', 'resumed', 'disconnected', 'moved'].includes(kind)) isLost = kind === 'disconnected';
            }
          }
          return found;
        }

        function renderTimeline() {
          const now = appNow();
          const start = axisStart(state.points, now);
          const lists = histories();
          const ids = [...lists.keys()].sort((one, two) =>
            (two === state.selected) - (one === state.selected) || lists.get(two).at(-1).time - lists.get(one).at(-1).time)
            .slice(0, 10);
          drawTimes(timeline, start, now, EDGE.top + ids.length * 38 + EDGE.bottom);
          ids.forEach((id, row) => renderHistory(lists.get(id), marks.filter((mark) => mark.id === id), id, EDGE.top + row * 38));
          timeline.svg.setAttribute('aria-label', ids.length === 0 ? 'No events of connections yet'
            : ids.map((id) => `connection ${id}: ${lists.get(id).at(-1).kind}`).join(', '));
        }

        function renderHistory(list, marks, id, y) {
          const { svg, x, start, now } = timeline;
          const row = state.connections.get(id);
          const label = `#${id} ${row ? row.endpoint.replace(/^[a-z]+:\/\//, '') : 'gone'}`.slice(0, 40);
          draw('text', { x: timeline.left, y: y + 10 }, svg, label);
          list.forEach((event, index) => {
            const end = index + 1 < list.length ? list[index + 1].time : now;
            const kind = lasting(event);
            const height = LASTING[kind];
            if (height === 0 || end < start) return;
            const at = x(event.time);
            draw('rect', { class: `s-${kind === 'connecting' ? 'reconnecting' : kind}`, x: at, y: y + 32 - height, height,
              width: Math.max(1.5, x(end) - at) }, svg);
            if (kind === 'connecting') draw('rect', { class: 's-connecting', x: at, y: y + 20, height: 12, width: 3 }, svg);
          });
          let free = timeline.left + 7 * label.length + 20;
          for (const mark of marks) {
            if (mark.time < start) continue;
            const at = x(mark.time);
            drawMark(svg, at, y + 25, mark.kind);
            if (at < free) continue;
            draw('text', { class: 'named', x: at, y: y + 12, 'text-anchor': 'middle' }, svg, mark.kind);
            free = at + 40;
          }
        }

        /// A gap is a diamond, a move an arrow.
        function drawMark(svg, x, y, kind) {
          draw('path', { class: kind, d: kind === 'gap' ? `M${x} ${y - 7}l6 7l-6 7l-6 -7z` : `M${x - 5} ${y - 6}l11 6l-11 6z` }, svg);
        }

        // MARK: The pointer

        const nearest = (points, time) => (points ?? []).reduce((best, point) =>
          !best || Math.abs(point.time - time) < Math.abs(best.time - time) ? point : best, null);
        let hover = null;

        /// Shows the time under the pointer in all views, and its values in one.
        function showHover() {
          for (const view of views) {
            view.cross?.remove();
            const isShown = hover !== null && view.start !== undefined && hover.time >= view.start;
            view.tip.hidden = !isShown || view !== hover.view;
            if (!isShown) continue;
            const at = view.x(hover.time);
            view.cross = draw('line', { class: 'cross', x1: at, x2: at, y1: EDGE.top, y2: view.height - EDGE.bottom }, view.svg);
            if (view.tip.hidden) continue;
            const near = (view.now - view.start) / 60;
            const met = view.all ? [] : marks.filter((mark) => Math.abs(mark.time - hover.time) < near);
            view.tip.textContent = [clock(hover.time).slice(0, 8), ...view.words(hover.time),
              ...met.map((mark) => mark.kind === 'gap' ? `#${mark.id} gap: a new session` : `#${mark.id} move`)].join('\n');
            view.tip.style.left = `${at}px`;
            view.tip.classList.toggle('before', at > view.width / 2);
          }
        }

        function hoverAt(view, time) {
          if (view.start === undefined) return;
          const inside = Math.min(view.now, Math.max(view.start, time));
          hover = { view, time: nearest(view.points, inside)?.time ?? inside };
          showHover();
        }

        for (const view of views) {
          view.box.append(view.tip = make('div', null, { class: 'tip', hidden: '' }));
          const follow = (event) => {
            const at = event.clientX - view.svg.getBoundingClientRect().left - view.left;
            hoverAt(view, view.start + at / view.wide * (view.now - view.start));
          };
          view.box.addEventListener('pointermove', follow);
          view.box.addEventListener('pointerdown', follow);
          for (const name of ['pointerleave', 'focusout']) view.box.addEventListener(name, () => { hover = null; showHover(); });
          view.svg.addEventListener('keydown', (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            event.preventDefault();
            hoverAt(view, (hover?.time ?? view.now) + step * Math.max(1000, (view.now - view.start) / 100));
          });
        }

        """#
}
