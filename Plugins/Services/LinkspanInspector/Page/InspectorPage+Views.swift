extension InspectorPage {
    /// The tables, the details and the controls.
    static let views = #"""

        const clock = (t) => {
          const date = new Date(Date.now() + (t - appNow()));
          return date.toLocaleTimeString('en-GB') + `.${String(date.getMilliseconds()).padStart(3, '0')}`;
        };

        /// Fills cells, which know their headings: on a phone a row is a card.
        function cells(row, list, first = 0) {
          list.forEach(([text, kind = ''], index) => {
            let cell = row.cells[first + index];
            if (!cell) {
              cell = row.insertCell();
              cell.dataset.label = row.closest('table').tHead.rows[0].cells[first + index].textContent;
            }
            if (cell.textContent !== text) cell.textContent = text;
            // Rows are used again for other lines.
            if (cell.className !== kind) cell.className = kind;
          });
        }

        /// Fills a list of names with values and remarks.
        function pairs(list, entries) {
          entries.forEach((texts, index) => {
            if (!list.children[index]) {
              const pair = make('div');
              pair.append(make('dt'), make('dd'), make('dd'));
              list.append(pair);
            }
            [...list.children[index].children].forEach((element, place) => {
              const text = String(texts[place] ?? '');
              if (element.textContent !== text) element.textContent = text;
            });
          });
          while (list.children.length > entries.length) list.lastChild.remove();
        }

        function renderFigures() {
          const all = [...state.connections.values()];
          const totals = state.totals;
          pairs($('figures'), [
            ['Connections', `${count(all.filter((row) => row.state === 'connected').length)} of ${
              count(all.length + totals.hidden)}`, 'up'],
            ['Received', count(totals.received), `messages, ${rate(state.rates.received)}`],
            ['Sent', count(totals.sent), `messages, ${rate(state.rates.sent)}`],
            ['Answered', count(totals.answered), 'messages'], ['Failed', count(totals.failed), 'messages'],
            ['Memory', size(totals.memory), 'of the process'],
          ]);
        }

        const ORDER = { disconnected: 0, reconnecting: 1, created: 2, connected: 3, released: 4 };
        function renderConnections() {
          const rows = filtered([...state.connections.values()], (row) =>
            `${row.id} ${row.endpoint} ${row.state} ${row.transport} ${row.carrier || ''}`, 'find-connection')
            .sort((one, two) => (ORDER[one.state] ?? 9) - (ORDER[two.state] ?? 9) || one.id - two.id);
          $('connection-count').textContent = rows.length > 200 ? `first 200 of ${rows.length}` : `${rows.length}`;
          const body = $('connection-rows');
          rows.slice(0, 200).forEach((row, index) => {
            const line = body.rows[index] || body.insertRow();
            if (!line.querySelector('button')) {
              const button = make('button', '', { type: 'button' });
              button.addEventListener('click', () => {
                state.isPicked = true;
                choose(Number(line.dataset.id));
              });
              line.insertCell().append(button);
              line.insertCell().append(make('span', '', { class: 'state' }));
              line.cells[1].dataset.label = 'State';
            }
            line.dataset.id = row.id;
            line.setAttribute('aria-selected', row.id === state.selected);
            line.cells[0].firstChild.textContent = `#${row.id} ${row.endpoint}`;
            const mark = line.cells[1].firstChild;
            mark.dataset.state = row.state;
            mark.textContent = row.state;
            cells(line, [
              [row.transport + (row.carrier && row.carrier !== row.transport ? `, ${row.carrier}` : ''), 'w'],
              [ms(row.roundTrip), 'n'], [count(row.waiting), 'n'], [count(row.inFlight), 'n'],
              [count(row.sent + row.received), 'n'],
            ], 2);
          });
          while (body.rows.length > Math.min(200, rows.length)) body.deleteRow(-1);
        }

        function renderDetail() {
          const row = state.connections.get(state.selected);
          $('h-detail').textContent = row ? `Connection ${row.id}` : 'Details';
          $('faults').hidden = !state.hello.faults;
          $('fault-of').textContent = row ? `Connection ${row.id}` : 'Chosen connection';
          if (!row) {
            $('why').textContent = 'Choose a connection.';
            $('facts').replaceChildren();
            return;
          }
          $('why').textContent = row.why;
          const credentials = row.credentials;
          pairs($('facts'), [
            ['State', `${row.state}, ${row.progress}`], ['Endpoint', row.endpoint],
            ['Transport', row.transport], ['Carrier', row.carrier || '–'], ['Last error', row.error || 'none'],
            ['Round trip', ms(row.roundTrip)], ['Held by', many(row.holders, 'handler')],
            ['Waiting', messages(row.waiting)], ['In flight', messages(row.inFlight)],
            ['Oldest', row.oldest === undefined ? '–' : ms(appNow() - row.oldest)],
            ['Outbox', row.outbox || 'none'], ['Reading', row.paused ? 'paused' : 'on'],
            ['Sent', messages(row.sent), size(row.sentBytes)],
            ['Received', messages(row.received), size(row.receivedBytes)],
            ['Answered', messages(row.answered)], ['Failed', messages(row.failed)],
            ['Credentials', credentials.isRevoked ? 'revoked' : credentials.obtained === undefined ? 'fixed or none'
              : `${ms(appNow() - credentials.obtained)} old`, credentials.failure && `not renewed: ${credentials.failure}`],
            ['Next renewal', credentials.nextRenewal === undefined ? 'none planned'
              : `in ${ms(credentials.nextRenewal - appNow())}`],
          ]);
        }

        function renderCountdown() {
          const row = state.connections.get(state.selected);
          const isWaiting = row && row.nextAttempt !== undefined;
          $('countdown').hidden = !isWaiting;
          if (isWaiting) {
            $('countdown').textContent =
              `Attempt ${row.attempt} in ${(Math.max(0, row.nextAttempt - appNow()) / 1000).toFixed(1)} s`;
          }
        }

        const LISTS = {
          frames: () => filtered(latest(state.frames), (frame) => `${frame.event} ${frame.kind} ${frame.code || ''}`)
            .filter((frame) => !$('direction').value || frame.kind === $('direction').value).slice(0, 200)
            .map((frame) => [[clock(frame.time), ''],
              [{ sent: '→ sent', received: '← received', answered: '← answered', failed: '✕ failed' }[frame.kind],
                frame.kind === 'failed' ? 'bad' : ''],
              [frame.event + (frame.code ? ` (${frame.code})` : '') + (frame.payload ? `  ${frame.payload}` : ''), 'w'],
              [size(frame.bytes), 'n'], [frame.roundTrip === undefined ? '' : ms(frame.roundTrip), 'n'],
              [`#${frame.connection}`, '']]),
          events: () => filtered(latest(state.events), (event) => `${event.kind} ${event.text}`).slice(0, 300)
            .map((event) => [[clock(event.time), ''], [event.kind, ''], [event.text, 'w']]),
          services: () => filtered([...state.services.values()].sort((one, two) => one.path < two.path ? -1 : 1),
            (row) => `${row.path} ${row.phase} ${row.state}`).slice(0, 300)
            .map((row) => [[row.path, 'w'], [row.phase, ''], [row.state, row.state === 'ready' ? '' : 'bad'],
              [`${row.waiting} of ${row.capacity}`, 'n'], [count(row.delivered), 'n'],
              [count(row.lost), row.lost ? 'n bad' : 'n'], [count(row.slow), row.slow ? 'n bad' : 'n'],
              [count(row.faults), row.faults ? 'n bad' : 'n']]),
          settings: () => filtered(state.settings, (row) => `${row.path} ${row.value} ${row.origin}`)
            .map((row) => [[row.path, 'w'], [row.value, 'w'], [row.origin, 'w']]),
        };

        /// The latest first, of all connections or of the chosen one.
        const latest = (list) =>
          list.filter((item) => !$('only').checked || item.connection === state.selected).reverse();

        function filtered(list, words, field = 'find') {
          const wanted = $(field).value.toLowerCase();
          return wanted ? list.filter((item) => words(item).toLowerCase().includes(wanted)) : list;
        }

        function renderList() {
          const rows = LISTS[state.tab]();
          const body = $(`p-${state.tab}`).querySelector('tbody');
          rows.forEach((row, index) => cells(body.rows[index] || body.insertRow(), row));
          while (body.rows.length > rows.length) body.deleteRow(-1);
          $('direction-of').hidden = state.tab !== 'frames';
          $('only-of').hidden = state.tab !== 'frames' && state.tab !== 'events';
          const crossed = state.totals.sent + state.totals.received + state.totals.answered;
          $('sampled').textContent = state.tab === 'frames'
            ? `${count(state.totals.sampled)} of ${count(crossed)} frames sampled` : '';
        }

        function renderMoves() {
          const names = state.transports.join();
          if ($('moves').dataset.names === names) return;
          $('moves').dataset.names = names;
          $('moves').replaceChildren(...state.transports.map((name) => {
            const button = make('button', `Move to ${name}`, { type: 'button', 'data-move': name });
            button.addEventListener('click', () => send({ do: 'move', transport: name }));
            return button;
          }));
        }

        function render() {
          if (state.frozen || !dirty || state.offset === null) return;
          dirty = false;
          for (const part of [renderFigures, renderConnections, renderDetail, renderList, renderCharts, renderTimeline,
            renderMoves, showHover]) part();
        }
        setInterval(() => { if (!document.hidden) requestAnimationFrame(render); }, 250);
        setInterval(() => { if (!state.frozen) renderCountdown(); }, 100);
        window.addEventListener('resize', () => { dirty = true; });

        // MARK: What people press

        for (const button of document.querySelectorAll('[data-do]')) {
          button.addEventListener('click', () => send({ do: button.dataset.do, connection: state.selected }));
        }
        for (const button of document.querySelectorAll('[data-span]')) {
          button.addEventListener('click', () => {
            state.span = Number(button.dataset.span);
            for (const other of document.querySelectorAll('[data-span]')) {
              other.setAttribute('aria-pressed', other === button);
            }
            dirty = true;
          });
        }
        const tabs = [...document.querySelectorAll('[role=tab]')];
        function showTab(tab) {
          state.tab = tab.id.slice(2);
          for (const other of tabs) {
            other.setAttribute('aria-selected', other === tab);
            other.tabIndex = other === tab ? 0 : -1;
            $(other.getAttribute('aria-controls')).hidden = other !== tab;
          }
          dirty = true;
        }
        tabs.forEach((tab, index) => {
          tab.addEventListener('click', () => showTab(tab));
          tab.addEventListener('keydown', (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            const next = tabs[(index + step + tabs.length) % tabs.length];
            next.focus();
            showTab(next);
          });
        });
        for (const id of ['find', 'find-connection', 'direction', 'only']) {
          $(id).addEventListener('input', () => { dirty = true; });
        }
        $('freeze').addEventListener('click', () => {
          state.frozen = !state.frozen;
          $('freeze').setAttribute('aria-pressed', state.frozen);
          dirty = true;
        });
        $('report').addEventListener('click', async () => {
          const answer = await fetch('/report', { headers: { Authorization: `Bearer ${key}` } });
          if (!answer.ok) return tell('The report could not be read.', true);
          const link = make('a', null, { href: URL.createObjectURL(await answer.blob()),
            download: 'linkspan-report.txt' });
          link.click();
          URL.revokeObjectURL(link.href);
        });
        document.addEventListener('keydown', (event) => {
          if (event.key !== '/' || /input|select/i.test(document.activeElement.tagName)) return;
          event.preventDefault();
          $('find').focus();
        });
        open();

        """#
}
