// The session page: timeline, event and state at one place of the log, which the slider moves and the address holds.

import { curl, get, sessionPath, withQuery } from './api.js';
import { copy, field, fill, h, toast } from './dom.js';
import { editState } from './edit.js';
import { describe } from './event.js';
import { EventView } from './eventview.js';
import { History } from './history.js';
import { compose, quote, read } from './json.js';
import { mayWrite } from './access.js';
import { remember } from './recent.js';
import { ask, complain } from './request.js';
import { appAddress, go, note, sessionAddress, userAddress } from './router.js';
import { followShared } from './shared.js';
import { Slider } from './slider.js';
import { States, compare } from './states.js';
import { StateView } from './stateview.js';
import { Timeline } from './timeline.js';
import { clock } from './times.js';

const DEBOUNCE = 60;
const PANES = ['left', 'middle', 'right'];

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
    this.live = h('button.live', { type: 'button', 'aria-pressed': 'true', click: () => this.tail() }, 'Live');
    this.panes = h('div.panes', this.timeline.element, this.eventView.element, this.stateView.element);
    this.panes.dataset.shown = 'left';
    this.chooser = h('div.chooser', { role: 'group', 'aria-label': 'Pane' }, ['Timeline', 'Event', 'State'].map((name, index) =>
      h('button', { type: 'button', 'aria-pressed': String(index === 0), click: () => this.#showPane(PANES[index]) }, name)));
  }

  get at() { return this.place ?? this.history.revision; }
  get isAtEnd() { return this.place === undefined; }

  async open(query) {
    fill(this.root, h('div.session', this.head, this.chooser, this.panes, this.#foot()));
    const { json } = await get(withQuery(this.path, { numRecentEvents: 0 }), this.signal);
    this.session = json;
    this.history.revision = json.get('revision').number();
    this.history.base = json.get('baseRevision')?.number() ?? 0;
    remember({ app: this.app, user: this.user, id: this.id, title: json.get('displayName')?.string() });
    this.#drawHead();
    await this.update(query);
    this.#askRewound();
    this.#follow();
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
    this.draw();
    if (this.isAtEnd) this.timeline.toEnd();
    else this.timeline.reveal();
  }

  /** Moves to a revision; the last one is the end, where new events are followed. */
  goTo(revision) {
    const { base, revision: last } = this.history;
    const place = Math.min(Math.max(revision, base), last);
    this.place = place === last ? undefined : place;
    this.draw();
    this.timeline.reveal();
    if (this.history.has(this.at) || this.at === base) return;
    clearTimeout(this.loading);
    this.loading = setTimeout(() => this.#load().then(() => {
      this.draw();
      this.timeline.reveal();
      this.#askRewound();
    }).catch(complain), DEBOUNCE);
  }

  tail() {
    this.goTo(this.history.revision);
    if (!this.history.hasNewer) this.timeline.toEnd();
  }

  /** To the first event of the next or the previous invocation. */
  step(direction) {
    const starts = this.#starts();
    const next = direction > 0 ? starts.find((start) => start > this.at) : starts.findLast((start) => start < this.at);
    this.goTo(next ?? (direction > 0 ? this.history.revision : this.history.base));
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
      if (error.name !== 'AbortError') complain(error);
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

  draw() {
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
    if (event || at === history.base) this.eventView.draw(event, this.view, this.session);
    const text = event ? `event ${at} of ${history.revision}, ${event.author || 'no author'}, ${clock(event.time)}` : `revision ${at} of ${history.revision}`;
    this.slider.draw({ base: history.base, revision: history.revision, at, text, starts: this.#starts() });
    this.#drawLive();
    note(sessionAddress(this.app, this.user, this.id, {
      at: this.isAtEnd ? undefined : at, view: this.view === 'content' ? undefined : this.view,
      against: this.against === 'previous' ? undefined : this.against,
    }));
    clearTimeout(this.stateTimer);
    this.stateTimer = setTimeout(() => this.#drawState(), this.drawnAt === undefined ? 0 : DEBOUNCE);
  }

  async #drawState() {
    const { at, against, isAtEnd } = this;
    const { base, revision } = this.history;
    this.drawnAt = at;
    try {
      const here = isAtEnd ? this.states.now().then((answer) => answer.json) : this.states.at(at);
      const other = against === 'now' ? this.states.now().then((answer) => answer.json)
        : this.states.at(against === 'start' ? base : Math.max(base, at - 1));
      const [shown, compared] = await Promise.all([here, other]);
      if (at !== this.at || against !== this.against || this.signal.aborted) return;
      const rows = against === 'now' ? compare(shown, compared) : compare(compared, shown);
      const title = isAtEnd ? 'State now' : against === 'now' ? `State ${at} → now` : `State at ${at}`;
      this.stateView.draw({ rows, title, against, mayEdit: mayWrite(), text: shown.text });
      if (at > base) this.states.prefetch(at - 1);
      if (at < revision) this.states.prefetch(at + 1);
    } catch (error) {
      if (error.name !== 'AbortError') this.stateView.fail(error);
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
      h('button', { type: 'button', title: `${title} (${key})`, 'aria-keyshortcuts': key, click: action }, label);
    const writing = mayWrite() ? [
      button('Edit state', 'e', () => this.edit(), 'Change state by operators, with a preview'),
      button('Fork here', 'f', () => this.fork(), 'A new session with the events up to here'),
      button('Rewind to here', 'r', () => this.rewind(), 'One more event restores the session state of here'),
    ] : [];
    return h('footer.foot', this.slider.element, h('div.buttons', writing, button('Copy as curl', 'y', () => this.copyCurl(), 'The requests of this view')));
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
    const id = h('input', { spellcheck: 'false', autocomplete: 'off', placeholder: 'generated' });
    ask({
      title: `Fork at event ${at}`,
      about: `Makes a new session with ${at === 0 ? 'no events' : `the events 1 to ${at}`} and the session state of that moment. This one stays as it is.`,
      fields: [field('Id of the new session', id)],
      action: 'Fork',
      request: () => ({
        method: 'POST', path: `${this.path}/fork`,
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
    ask({
      title: `Rewind to event ${at}`,
      about: `Appends one event that restores the session's own state as it was after event ${at}. Nothing is removed; app and user state stay as they are.`,
      action: 'Rewind',
      danger: true,
      request: () => ({ method: 'POST', path: `${this.path}/rewind`, body: compose({ toRevision: String(at) }) }),
      done: (_, box) => {
        box.close();
        toast('Rewound');
        this.tail();
      },
    });
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
    const end = (word) => { this.status = word; stop.abort(); this.#drawLive(); };
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
        } else if (kind === 'deleted') {
          end(read(data).get('reason')?.string() ?? 'deleted');
        }
      },
      onStatus: (status) => {
        if (typeof status === 'string') this.status = status;
        else return end(status.code || status.message);
        this.#drawLive();
      },
    }).catch(complain);
  }

  #arrived(event) {
    const { history } = this;
    if (event.sequence <= history.revision) return;
    const isComplete = history.add(event);
    if (event.rewinds !== undefined) this.#askRewound();
    if (!isComplete && this.isAtEnd) history.openAtEnd().then(() => this.draw()).catch(complain);
    this.draw();
    if (this.isAtEnd) requestAnimationFrame(() => this.timeline.toEnd());
    announce(`Event ${event.sequence}, ${event.author}: ${event.line.text}`);
  }

  #metadata(metadata) {
    const kept = this.session.members.filter(({ key }) => !['displayName', 'labels', 'expireTime'].includes(key.string()));
    const set = metadata.members.filter(({ value }) => value.text !== 'null');
    this.session.members = [...kept, ...set];
    this.#drawHead();
  }

  /** What the keys of the keyboard do here. */
  keys() {
    const writing = mayWrite() ? { e: () => this.edit(), f: () => this.fork(), r: () => this.rewind() } : {};
    const move = (distance) => () => this.goTo(this.at + distance);
    return {
      j: () => { move(1)(); }, k: () => { move(-1)(); }, '[': move(-1), ']': move(1),
      '{': () => this.step(-1), '}': () => this.step(1),
      t: () => this.tail(), y: () => this.copyCurl(), ...writing,
    };
  }
}

let saidAt = 0;

/** For screen readers, at most every five seconds. */
function announce(text) {
  if (Date.now() - saidAt < 5000) return;
  saidAt = Date.now();
  document.getElementById('said').textContent = text;
}
