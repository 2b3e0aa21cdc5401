extension ChatPage {
    /// The client of the raw-WebSocket protocol, in less than three hundred lines.
    static let script = #"""

        'use strict';
        const $ = (id) => document.getElementById(id);
        const KEPT = 1000;
        let me = null;
        let room = null;
        let socket = null;
        let isIn = false;
        let attempt = 0;
        let timer = null;
        let lastID = 0;
        let topic = '';
        // The last line of the room that this page has; 0 asks for what the server keeps.
        let seen = 0;
        // The numbering that it belongs to, which a server without the history begins anew.
        let numbering = null;
        const answers = new Map();
        // Lines without a confirmation, by key; they are sent again after a return, under the same key.
        const pending = new Map();
        const shown = new Set();
        const people = new Set();
        const typists = new Map();

        // What a terminal shows of a text (ForeignText.shown): nothing that turns the text, breaks the line or piles up.
        function visible(text) {
          let marks = 0;
          return [...text].map((scalar) => {
            marks = /[\p{Mn}\p{Me}\p{Cf}]/u.test(scalar) ? marks + 1 : 0;
            if (marks > 15) return '';
            if (/[\t\p{Zl}\p{Zp}]/u.test(scalar)) return ' ';
            return /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(scalar) ? '\ufffd' : scalar;
          }).join('');
        }

        // A name in quotes when it could pass for more than a name.
        const called = (name) => /[\s*":,[\]]/u.test(name) ? `"${name.replaceAll('"', "'")}"` : name;

        function show(element, text) { element.textContent = visible(text); }

        function status(state, text) {
          $('status').dataset.state = state;
          show($('status'), text);
        }

        function fill(item, text) {
          let end = 0;
          for (const match of text.matchAll(/\bhttps?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]]/gu)) {
            const link = document.createElement('a');
            [link.href, link.textContent, link.rel, link.target] = [match[0], match[0], 'noopener noreferrer', '_blank'];
            item.append(text.slice(end, match.index), link);
            end = match.index + match[0].length;
          }
          item.append(text.slice(end));
        }

        function line(author, text, kind) {
          const list = $('messages');
          const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
          const item = document.createElement('li');
          if (author) {
            const name = document.createElement('b');
            show(name, author);
            item.append(name);
          }
          fill(item, visible(text));
          item.dataset.time = new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
          if (kind) item.className = kind;
          $('lines').append(item);
          while ($('lines').children.length > KEPT) $('lines').firstChild.remove();
          if (isAtEnd) list.scrollTop = list.scrollHeight;
          return item;
        }

        // MARK: The wire

        function request(event, data, answer) {
          lastID += 1;
          answers.set(lastID, answer);
          socket.send(JSON.stringify({ event, data: [data], id: lastID }));
        }

        function open() {
          clearTimeout(timer);
          status('down', attempt ? 'connecting again …' : 'connecting …');
          answers.clear();
          socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`);
          socket.onopen = () => {
            const auth = { name: me, rooms: [room], seen: { [room]: seen } };
            if (numbering) auth.numbering = { [room]: numbering };
            socket.send(JSON.stringify({ auth }));
            // The server tells where the room stands as soon as it has let this page in.
          };
          socket.onmessage = (message) => receive(JSON.parse(message.data));
          socket.onclose = closed;
        }

        function closed(event) {
          const wasIn = isIn;
          isIn = false;
          if (event.code === 4401) return leave(event.reason || 'The server refused the name.');
          if (event.code === 4403) return leave(event.reason || 'The server closed the connection.');
          if (wasIn) attempt = 0;
          attempt += 1;
          const wait = Math.min(10000, 250 * 2 ** Math.min(attempt, 6)) * (0.75 + Math.random() / 2);
          const until = Date.now() + wait;
          const tick = () => {
            const left = until - Date.now();
            if (left <= 0) return open();
            status('down', `connection lost; trying again in ${(left / 1000).toFixed(1)} s`);
            timer = setTimeout(tick, Math.min(100, left));
          };
          tick();
        }

        function leave(reason) {
          show($('refusal'), reason);
          $('entry').hidden = false;
          $('chat').hidden = true;
          status('out', 'not connected');
        }

        function receive(envelope) {
          const payload = (envelope.data || [])[0] || {};
          if (envelope.ack !== undefined) {
            const answer = answers.get(envelope.ack);
            answers.delete(envelope.ack);
            if (answer) answer(payload);
            return;
          }
          // A message to one person is in no room.
          if ((payload.room ?? room) !== room) return;
          const handler = HANDLERS[envelope.event];
          if (handler) handler(payload);
        }

        const HANDLERS = {
          room: (place) => {
            [seen, numbering] = [place.seq, place.numbering];
            if (isIn) return;
            isIn = true;
            $('entry').hidden = true;
            $('chat').hidden = false;
            status('in', `connected as ${me}`);
            request('who', { room }, (answer) => {
              if (!answer.ok) return;
              people.clear();
              for (const name of answer.members) people.add(name);
              showPeople();
            });
            for (const [id, entry] of pending) transmit(id, entry);
            if (document.activeElement === document.body || attempt === 0) $('text').focus();
            attempt = 0;
          },
          message: ({ from, text, id, seq }) => {
            seen = Math.max(seen, seq);
            typists.delete(from);
            showTypists();
            const key = `${from}\n${id}`;
            if (shown.has(key)) return settle(id, from);
            shown.add(key);
            if (from === me && pending.has(id)) return settle(id, from);
            line(from, text, from === me ? 'own' : '');
          },
          msg: ({ from, text, id }) => {
            // It comes again when its confirmation was lost.
            const key = `msg\n${from}\n${id}`;
            if (shown.has(key)) return;
            shown.add(key);
            line(null, `${called(from)} to you alone: ${text}`, 'direct');
          },
          topic: ({ topic: text, name }) => {
            // The server repeats it at each entry.
            if (text === topic) return;
            topic = text;
            const setting = name ? `${called(name)} set the topic` : 'The topic';
            line(null, text ? `${setting}: ${text}` : `${called(name ?? 'The server')} removed the topic`, 'note');
          },
          gap: ({ lines }) => line(null, lines === null
            ? 'The server has lost its history; lines may be missing here.'
            : `${lines} ${lines === 1 ? 'line is' : 'lines are'} lost.`, 'note'),
          joined: ({ name }) => {
            people.add(name);
            showPeople();
            line(null, `${called(name)} has joined`, 'note');
          },
          left: ({ name }) => {
            people.delete(name);
            typists.delete(name);
            showPeople();
            showTypists();
            line(null, `${called(name)} has left`, 'note');
          },
          typing: ({ name }) => {
            typists.set(name, Date.now() + 3000);
            showTypists();
            setTimeout(showTypists, 3100);
          },
        };

        // MARK: Saying

        function say(text) {
          const id = `${crypto.getRandomValues(new Uint32Array(2)).join('-')}-${Date.now()}`;
          const entry = { text, item: line(me, text, 'own waiting') };
          pending.set(id, entry);
          shown.add(`${me}\n${id}`);
          if (isIn) transmit(id, entry);
        }

        function transmit(id, entry) {
          request('say', { room, text: entry.text, id }, (answer) => {
            if (answer.ok) {
              seen = Math.max(seen, answer.seq);
              return settle(id, me);
            }
            pending.delete(id);
            entry.item.className = 'own failed';
            entry.item.title = answer.error ? answer.error.message : '';
          });
        }

        function settle(id, from) {
          const entry = from === me ? pending.get(id) : undefined;
          if (!entry) return;
          pending.delete(id);
          entry.item.className = 'own';
        }

        // MARK: Who is there

        function showPeople() {
          $('people').replaceChildren(...[...people].sort().map((name) => {
            const item = document.createElement('li');
            show(item, name);
            return item;
          }));
        }

        function showTypists() {
          for (const [name, until] of typists) if (until <= Date.now()) typists.delete(name);
          const names = [...typists.keys()];
          show($('typing'), names.length === 0 ? ''
            : `${names.slice(0, 3).map(called).join(', ')} ${names.length === 1 ? 'is' : 'are'} typing …`);
        }

        let typed = 0;
        $('text').addEventListener('input', () => {
          if (!isIn || Date.now() - typed < 2000 || !$('text').value) return;
          typed = Date.now();
          socket.send(JSON.stringify({ event: 'typing', data: [{ room }] }));
        });

        $('say').addEventListener('submit', (event) => {
          event.preventDefault();
          const text = $('text').value;
          if (text.trim()) say(text);
          $('text').value = '';
          typed = 0;
        });

        $('entry').addEventListener('submit', (event) => {
          event.preventDefault();
          const [name, place] = [$('name').value.trim(), $('room').value.trim()];
          if (name !== me || place !== room) {
            [seen, numbering, topic] = [0, null, ''];
            shown.clear();
            pending.clear();
            $('lines').replaceChildren();
          }
          [me, room, attempt] = [name, place, 0];
          $('refusal').textContent = '';
          show($('room-name'), room);
          document.title = `${visible(room)} – Linkspan chat`;
          open();
        });

        """#
}
