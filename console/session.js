// The session page: timeline, event and state at one place of the log, which the slider moves and the address holds.

import { curl, get, path, sessionPath, withQuery } from './api.js';
import { copy, field, fill, h, toast } from './dom.js';
import { editState } from './edit.js';
import { exportButton } from './export.js';
import { describe } from './event.js';
import { EventView } from './eventview.js';
import { History } from './history.js';
import { compose, quote, read } from './json.js';
import { mayOperate, mayWrite } from './access.js';
import { remember } from './recent.js';
import { ask, complain, newKey } from './request.js';
import { appAddress, go, note, sessionAddress, userAddress } from './router.js';
import { followShared } from './shared.js';
import { Slider } from './slider.js';
import { States, compare } from './states.js';
import { StateView } from './stateview.js';
import { Timeline } from './timeline.js';
import { clock } from './times.js';

const DEBOUNCE = 60; // before events are loaded for a slider that moves
const PANES = ['left', 'middle', 'right'];
const ENDS = { deleted: 'deleted', session_not_found: 'deleted', expired: 'expired', position_gone: 'made anew' };

export async function openSession({ root, names: [app, user, id], query, signal, setTitle }) {
  const page = new SessionPage({ root, app, user, id, signal, setTitle });
  await page.open(query);
  return page;
}

class SessionPage {
  view = 'content';
  against = 'previous';
  place; // undefined: the end, wherever that is
  status = 'waiting';
  scroll = ''; // what the next drawing does with the timeline: toEnd, reveal or focus

  constructor({ root, app, user, id, signal, setTitle }) {
    Object.assign(this, { root, app, user, id, signal, setTitle });
    this.path = sessionPath(app, user, id);
    this.history = new History(this.path, signal);
    this.states = new States(this.path, signal);
    this.timeline = new Timeline(this.history, (sequence) => this.goTo(sequence), (side) => this.#page(side));
    this.eventView = new EventView((view) => { this.view = view; this.draw(); });
    this.stateView = new StateView((against) => { this.against = against; this.draw(); }, (key) => this.edit(key));
    this.slider = new Slider((revision) => this.goTo(revision));
    this.head = h('header.head');
    this.gone = h('div.gone', { role: 'alert' });
    this.live = h('button.live', { 'aria-pressed': 'true', click: () => this.tail() }, 'Live');
    this.panes = h('div.panes', this.timeline.element, this.eventView.element, this.stateView.element);
    this.panes.dataset.shown = 'left';
    this.chooser = h('div.chooser', { role: 'group', 'aria-label': 'Pane' }, ['Timeline', 'Event', 'State'].map((name, index) =>
      h('button', { 'aria-pressed': String(index === 0), click: () => this.#showPane(PANES[index]) }, name)));
  }

  get at() { return this.place ?? this.history.revision; }
  get isAtEnd() { return this.place === undefined; }

  async open(query) {
    fill(this.root, h('div.session', this.head, this.gone, this.chooser, this.panes, this.#foot()));
    const { json } = await get(withQuery(this.path, { numRecentEvents: 0 }), this.signal);
    this.session = json;
    this.history.revision = json.get('revision').number();
    this.history.base = json.get('baseRevision')?.number() ?? 0;
    remember({ app: this.app, user: this.user, id: this.id, title: json.get('displayName')?.string() });
    this.#drawHead();
    await this.update(query);
    this.#askRewound();
    this.#follow();
    this.#askForks().catch(() => {});
  }

  /** Marks forks, of the user's 200 latest sessions. */
  async #askForks() {
    const query = { orderBy: 'createTime', order: 'desc', pageSize: 200 };
    const { json } = await get(withQuery(path('apps', this.app, 'users', this.user, 'sessions'), query), this.signal);
    for (const session of json.get('sessions').items) {
      if (session.at('forkedFrom', 'sessionId')?.string() !== this.id) continue;
      const id = session.get('id').string();
      const link = h('a', { href: sessionAddress(this.app, this.user, id) }, h('bdi', session.get('displayName')?.string() ?? id));
      this.timeline.forks.push({ revision: session.at('forkedFrom', 'revision').number(), link });
    }
    if (this.timeline.forks.length) this.draw();
  }

  /** Takes what an address says: `at`, `event`, `view`, `against`. */
  async update({ at, event, view, against }) {
    if (['content', 'actions', 'raw'].includes(view)) this.view = view;
    if (['previous', 'start', 'now'].includes(against)) this.against = against;
    let place = /^\d+$/.test(at ?? '') ? Number(at) : undefined;
    if (place === undefined && event) {
      const { json } = await get(`${this.path}/events/${encodeURIComponent(event)}`, this.signal);
      place = json.get('sequence').number();
    }
    this.place = place === undefined ? undefined : Math.min(Math.max(place, this.history.base), this.history.revision);
    await this.#load();
    this.draw(this.isAtEnd ? 'toEnd' : 'reveal');
  }

  /** Moves to a revision; the last one is the end, where new events are followed. */
  goTo(revision, scroll = 'reveal') {
    const { base, revision: last } = this.history;
    const place = Math.min(Math.max(revision, base), last);
    this.place = place === last ? undefined : place;
    this.draw(scroll);
    clearTimeout(this.loading);
    if (this.history.has(this.at) || this.at === base) return;
    this.loading = setTimeout(() => this.#load().then(() => {
      this.draw(scroll);
      this.#askRewound();
    }).catch(fail), DEBOUNCE);
  }

  tail() {
    this.goTo(this.history.revision, 'toEnd');
  }

  /** To the first event of the next or the previous invocation. */
  step(direction) {
    const starts = this.#starts();
    const next = direction > 0 ? starts.find((start) => start > this.at) : starts.findLast((start) => start < this.at);
    this.goTo(next ?? (direction > 0 ? this.history.revision : this.history.base), 'focus');
  }

  async #load() {
    const { history } = this;
    if (history.has(this.at)) return;
    if (this.isAtEnd) await history.openAtEnd();
    else await history.openAround(this.at);
  }

  async #page(side) {
    if (this.paging) return;
    this.paging = true;
    try {
      await this.history[side]();
      this.draw();
      await this.history.askRewound();
      this.draw();
    } catch (error) {
      fail(error);
    } finally {
      this.paging = false;
    }
  }

  #askRewound() {
    this.history.askRewound().then(() => this.draw()).catch(() => {});
  }

  #starts() {
    const { events } = this.history;
    return events.filter((event, index) => event.invocation !== events[index - 1]?.invocation).map((event) => event.sequence);
  }

  draw(scroll) {
    this.scroll = scroll ?? this.scroll;
    if (this.drawing || this.signal.aborted) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      if (!this.signal.aborted) this.#drawNow();
    });
  }

  #drawNow() {
    const { history, at } = this;
    const event = history.find(at);
    this.timeline.draw(at);
    this.timeline[this.scroll]?.();
    this.scroll = '';
    if (event || at === history.base) this.eventView.draw(event, this.view, this.session);
    const text = event ? `event ${at} of ${history.revision}, ${event.author || 'no author'}, ${clock(event.time)}` : `revision ${at} of ${history.revision}`;
    this.slider.draw({ base: history.base, revision: history.revision, at, text, starts: this.#starts() });
    this.#drawLive();
    note(sessionAddress(this.app, this.user, this.id, {
      at: this.isAtEnd ? undefined : at, view: this.view === 'content' ? undefined : this.view,
      against: this.against === 'previous' ? undefined : this.against,
    }));
    if (this.isAtEnd && history.hasNewer && this.timeline.isAtEnd) this.#catchUp();
    this.#keepState();
  }

  /** Reads the end anew, if events that were not seen on the stream are there. */
  async #catchUp() {
    if (this.isCatching) return;
    this.isCatching = true;
    await this.history.openAtEnd().then(() => this.#askRewound()).catch(fail);
    this.isCatching = false;
    if (this.isAtEnd) this.draw('toEnd');
    else this.goTo(this.at, ''); // one went elsewhere meanwhile
  }

  /** Draws the state that is wanted, one after the other: neither a slider nor events that arrive quickly put it off. */
  async #keepState() {
    this.isStale = true;
    if (this.isReading) return;
    this.isReading = true;
    while (this.isStale && !this.signal.aborted) {
      this.isStale = false;
      await this.#drawState();
      await new Promise(requestAnimationFrame);
    }
    this.isReading = false;
  }

  async #drawState() {
    const { at, against, place, isAtEnd } = this;
    const { base, revision } = this.history;
    try {
      const here = isAtEnd ? this.states.now().then((answer) => answer.json) : this.states.at(at);
      const other = against === 'now' ? this.states.now().then((answer) => answer.json)
        : this.states.at(against === 'start' ? base : Math.max(base, at - 1));
      const [shown, compared] = await Promise.all([here, other]);
      if (place !== this.place || against !== this.against || this.signal.aborted) return;
      const rows = against === 'now' ? compare(shown, compared) : compare(compared, shown);
      const title = isAtEnd ? 'State now' : against === 'now' ? `State ${at} → now` : `State at ${at}`;
      this.stateView.draw({ rows, title, against, mayEdit: mayWrite(), text: shown.text });
      if (at > base) this.states.prefetch(at - 1);
      if (at < revision) this.states.prefetch(at + 1);
    } catch (error) {
      if (error.name !== 'AbortError' && place === this.place) this.stateView.fail(error);
    }
  }

  #drawHead() {
    const title = this.session.get('displayName')?.string();
    const labels = this.session.get('labels')?.members ?? [];
    const from = this.session.at('forkedFrom', 'sessionId')?.string();
    this.setTitle(title ?? this.id);
    fill(this.head,
      h('nav.crumbs', { 'aria-label': 'Where this is' },
        h('a', { href: appAddress(this.app) }, h('bdi', this.app)), h('span.slash', '/'),
        h('a', { href: userAddress(this.app, this.user) }, h('bdi', this.user)), h('span.slash', '/'),
        h('h1', h('bdi', title ?? this.id))),
      h('div.marks',
        title && h('bdi.id', this.id),
        labels.map(({ key, value }) => h('bdi.label', `${key.string()}=${value.string()}`)),
        from && h('a.label', { href: sessionAddress(this.app, this.user, from, { at: this.session.at('forkedFrom', 'revision').text }) },
          'fork of ', h('bdi', from), ` at ${this.session.at('forkedFrom', 'revision').text}`)),
      this.live);
  }

  #foot() {
    const button = (label, key, action, title) =>
      h('button', { title: `${title} (${key})`, 'aria-keyshortcuts': key, click: action }, label);
    this.writing = mayWrite() ? [
      button('Edit state', 'e', () => this.edit(), 'Change state by operators'),
      button('Fork here', 'f', () => this.fork(), 'A new session with the events up to here'),
      button('Rewind to here', 'r', () => this.rewind(), 'One more event restores the session state of here'),
      this.#mayTrim() && button('Trim to here', 'm', () => this.trim(), 'Removes the events up to here'),
    ].filter(Boolean) : [];
    return h('footer.foot', this.slider.element, h('div.buttons', this.writing, button('Copy as curl', 'y', () => this.copyCurl(), 'The requests of this view'),
      mayOperate(this.app, 'export') && exportButton(this.path, this.id)));
  }

  #drawLive() {
    const words = { live: this.isAtEnd ? 'Live' : 'Live: go to the end', waiting: 'Connecting…' };
    this.live.textContent = words[this.status] ?? `Ended: ${this.status}`;
    this.live.dataset.status = words[this.status] ? this.status : 'ended';
    this.live.setAttribute('aria-pressed', String(this.isAtEnd));
  }

  #showPane(pane) {
    this.panes.dataset.shown = pane;
    [...this.chooser.children].forEach((button, index) => button.setAttribute('aria-pressed', String(PANES[index] === pane)));
  }

  edit(key) {
    editState({ path: `${this.path}/state`, title: 'Edit state', key }).catch(complain);
  }

  fork() {
    const { at } = this;
    const headers = { 'Idempotency-Key': newKey() };
    const id = h('input', { spellcheck: 'false', autocomplete: 'off', placeholder: 'generated' });
    ask({
      title: `Fork at event ${at}`,
      about: `Makes a new session with ${at === 0 ? 'no events' : `the events 1 to ${at}`} and the session state of that moment. This one stays as it is.`,
      fields: [field('Id of the new session', id)],
      action: 'Fork',
      request: () => ({
        method: 'POST', path: `${this.path}/fork`, headers,
        body: compose({ atRevision: String(at), sessionId: id.value ? quote(id.value) : undefined }),
      }),
      done: (answer, box) => {
        box.close();
        go(sessionAddress(this.app, this.user, answer.json.get('id').string()));
      },
    });
  }

  rewind() {
    const { at } = this;
    const key = newKey();
    let seen = this.history.revision;
    ask({
      title: `Rewind to event ${at}`,
      about: `Appends one event that restores the session's own state as it was after event ${at}. Nothing is removed; app and user state stay as they are.`,
      action: 'Rewind',
      danger: true,
      request: () => ({
        method: 'POST', path: `${this.path}/rewind`, headers: { 'If-Match': `"${seen}"`, 'Idempotency-Key': key },
        body: compose({ toRevision: String(at) }),
      }),
      failed: (problem, { trouble, build }) => {
        const revision = problem.status === 412 && problem.body?.get('revision')?.number();
        if (!revision) return false;
        fill(trouble, h('p', h('b', `Nothing was rewound: event${revision > seen + 1 ? `s ${seen + 1} to` : ''} ${revision} came meanwhile.`),
          ' Look at what is new first, or press Rewind again to rewind that too.'));
        seen = revision;
        build();
        return true;
      },
      done: (_, box) => {
        box.close();
        toast('Rewound');
        this.tail();
      },
    });
  }

  #mayTrim() {
    return mayOperate(this.app, 'trim');
  }

  trim() {
    const { at } = this;
    ask({
      title: `Trim to event ${at}`,
      about: `Removes the events up to ${at} for good. The state stays; what was before cannot be seen any more.`,
      action: 'Trim',
      danger: true,
      request: () => ({ method: 'POST', path: `${this.path}/trim`, body: `{"beforeSequence":${at + 1}}` }),
      done: async (answer, box) => {
        box.close();
        toast(`${answer.json.get('trimmedEvents').text} events trimmed`);
        this.#trimmed(answer.json.get('baseRevision').number());
      },
    });
  }

  /** What is shown of the events up to here goes. */
  #trimmed(base) {
    this.history.trimmed(base);
    this.goTo(this.at);
  }

  copyCurl() {
    const event = this.history.find(this.at);
    const requests = [
      { path: this.states.address(this.isAtEnd ? undefined : this.at) },
      event && { path: `${this.path}/events/${encodeURIComponent(event.id)}` },
    ].filter(Boolean);
    return copy(requests.map(curl).join('\n'));
  }

  #follow() {
    let position = String(this.history.revision);
    const stop = new AbortController();
    const signal = AbortSignal.any([this.signal, stop.signal]);
    const end = (word) => { stop.abort(); this.#ended(word); };
    followShared({
      address: withQuery(`${this.path}/watch`, { include: 'state' }),
      signal,
      position: () => position,
      onFrame: ({ event: kind, data, id }) => {
        if (kind === 'event') {
          const event = describe(read(data));
          if (id && event.sequence >= parseInt(position, 10)) position = id;
          this.#arrived(event);
        } else if (kind === 'state') {
          if (this.isAtEnd || this.against === 'now') this.draw();
        } else if (kind === 'metadata') {
          this.#metadata(read(data));
        } else if (kind === 'trimmed') {
          position = read(data).get('baseRevision').text;
          this.#trimmed(Number(position));
        } else if (kind === 'deleted') {
          end(read(data).get('reason')?.string() ?? 'deleted');
        }
      },
      onStatus: (status) => {
        if (typeof status === 'string') this.status = status;
        else return end(status.code || status.message);
        this.#drawLive();
        if (status === 'live') this.draw();
      },
    }).catch(complain);
  }

  #arrived(event) {
    const { history, timeline } = this;
    if (event.sequence <= history.last) return;
    history.add(event);
    if (event.rewinds !== undefined) this.#askRewound();
    this.draw(this.isAtEnd && timeline.isAtEnd && !this.scroll ? 'toEnd' : undefined);
    announce(`Event ${event.sequence}, ${event.author}: ${event.line.text}`);
  }

  /** The stream is over for good. */
  #ended(word) {
    this.status = ENDS[word] ?? word;
    this.#drawLive();
    if (!ENDS[word]) return;
    for (const button of this.writing) button.disabled = true;
    this.isGone = true;
    fill(this.gone, `This session was ${this.status}. What is shown here is how it was.`);
  }

  #metadata(metadata) {
    const kept = this.session.members.filter(({ key }) => !['displayName', 'labels', 'expireTime'].includes(key.string()));
    const set = metadata.members.filter(({ value }) => value.text !== 'null');
    this.session.members = [...kept, ...set];
    this.#drawHead();
  }

  /** What the keys of the keyboard do here. */
  keys() {
    const writing = mayWrite() && !this.isGone ? { e: () => this.edit(), f: () => this.fork(), r: () => this.rewind(), ...(this.#mayTrim() && { m: () => this.trim() }) } : {};
    const move = (distance, scroll) => () => this.goTo(this.at + distance, scroll);
    return {
      j: move(1, 'focus'), k: move(-1, 'focus'), '[': move(-1), ']': move(1),
      '{': () => this.step(-1), '}': () => this.step(1),
      t: () => this.tail(), y: () => this.copyCurl(), ...writing,
    };
  }
}

function fail(error) {
  if (error.name !== 'AbortError') complain(error);
}

let saidAt = 0;

/** For screen readers, at most every five seconds. */
function announce(text) {
  if (Date.now() - saidAt < 5000) return;
  saidAt = Date.now();
  document.getElementById('said').textContent = text;
}
