extension InspectorPage {
    /// The page's state, and the feed that fills it.
    static let model = #"""

        'use strict';
        const $ = (id) => document.getElementById(id);
        const make = (name, text, attributes = {}) => {
          const element = document.createElement(name);
          if (text !== undefined && text !== null) element.textContent = text;
          for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
          return element;
        };
        const KEPT = { events: 2048, frames: 400, points: 3600 };
        const state = { connections: new Map(), services: new Map(), settings: [], transports: [], events: [],
          frames: [], points: [], totals: {}, rates: { sent: 0, received: 0 }, selected: null, span: 300, tab: 'frames',
          isPicked: false, frozen: false, hello: {}, offset: null, own: [] };
        let dirty = true;

        // The key of the session is shown once; it stays in this tab, and leaves the address and the history.
        const meta = document.querySelector('meta[name=session]');
        let key = meta.content || sessionStorage.getItem('linkspan-inspector');
        if (meta.content) {
          sessionStorage.setItem('linkspan-inspector', meta.content);
          meta.remove();
          history.replaceState(null, '', '/');
        }

        /// The app's time in milliseconds since the recording began.
        const appNow = () => state.offset === null ? 0 : performance.now() + state.offset;

        function tell(text, isError) {
          const notice = $('notice');
          notice.hidden = !text;
          notice.textContent = text || '';
          notice.classList.toggle('bad', !!isError);
        }

        function feedState(name, text) {
          if ($('feed').dataset.state === name && $('feed').textContent === text) return;
          $('feed').dataset.state = name;
          $('feed').textContent = text;
        }

        let socket = null;
        let refusals = 0;
        function open() {
          if (!key) {
            // A request without a key makes the inspector print another URL.
            fetch('/snapshot');
            return feedState('closed', 'Open the URL that the inspector has just printed.');
          }
          let wasOpen = false;
          socket = new WebSocket(`ws://${location.host}/feed`, ['linkspan-inspector', `session.${key}`]);
          socket.onopen = () => { wasOpen = true; refusals = 0; feedState('open', 'Live'); };
          socket.onmessage = (message) => receive(JSON.parse(message.data));
          socket.onclose = () => {
            if (!wasOpen) refusals += 1;
            feedState('closed', refusals > 2
              ? 'The app does not know this page. Open the URL that its inspector printed last.'
              : 'The app has gone; trying again …');
            setTimeout(open, Math.min(5000, 500 * 2 ** refusals));
          };
        }

        function send(command) {
          if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(command));
        }

        function receive(message) {
          if (message.notice) return tell(message.notice.text, message.notice.error);
          if (message.hello) {
            // A feed begins with everything.
            Object.assign(state, { hello: message.hello, events: [], frames: [], points: [], settings: [], own: [],
              offset: null, last: null });
            state.connections.clear();
            state.services.clear();
            if (state.selected !== null) send({ do: 'select', connection: state.selected });
            dirty = true;
            return;
          }
          const offset = message.now - performance.now();
          state.offset = state.offset === null ? offset : Math.max(state.offset, offset);
          note(message);
          dirty = true;
        }

        function note(batch) {
          for (const row of batch.connections) {
            const former = state.connections.get(row.id);
            if (former && former.state !== row.state) {
              $('live').textContent = `Connection ${row.id}: ${row.state}`;
            }
            state.connections.set(row.id, row);
            if (row.id === state.selected) addOwn(row, former, batch.now);
          }
          for (const id of batch.gone) state.connections.delete(id);
          for (const row of batch.services) state.services.set(row.path, row);
          for (const path of batch.goneServices) state.services.delete(path);
          append('events', batch.events);
          append('frames', batch.frames);
          append('points', batch.points);
          if (batch.settings) { state.settings = batch.settings; state.transports = batch.transports; }
          const last = state.last;
          if (!last || batch.now - last.now >= 900) {
            if (last) {
              const seconds = (batch.now - last.now) / 1000;
              state.rates = { sent: (batch.totals.sent - last.sent) / seconds,
                received: (batch.totals.received - last.received) / seconds };
            }
            state.last = { now: batch.now, sent: batch.totals.sent, received: batch.totals.received };
          }
          state.totals = batch.totals;
          // Most apps have one connection.
          if (state.selected === null && state.connections.size > 0) choose(Math.min(...state.connections.keys()));
        }

        function append(name, items) {
          if (items.length === 0) return;
          const list = state[name];
          for (const item of items) list.push(item);
          if (list.length > KEPT[name]) list.splice(0, list.length - KEPT[name]);
        }

        /// Adds a point to the charts of the chosen connection, at most one a second.
        function addOwn(row, former, now) {
          const own = state.own;
          const last = own[own.length - 1];
          if (last && now - last.time < 950) return;
          const seconds = last ? (now - last.time) / 1000 : 1;
          own.push({ time: now, reply: row.reply ?? null, roundTrip: row.state === 'connected' ? row.roundTrip ?? null : null,
            connected: row.state === 'connected' ? 1 : 0, sent: last ? (row.sent - last.sentTotal) / seconds : 0,
            received: last ? (row.received - last.receivedTotal) / seconds : 0,
            sentTotal: row.sent, receivedTotal: row.received, waiting: row.waiting, inFlight: row.inFlight,
            outbox: row.outboxCount ?? null, oldest: row.oldest === undefined ? 0 : now - row.oldest, turn: row.turn });
          if (own.length > KEPT.points) own.shift();
        }

        function choose(id) {
          if (state.selected !== id) state.own = [];
          state.selected = id;
          send({ do: 'select', connection: id });
          dirty = true;
        }

        """#
}
