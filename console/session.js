// The session page: timeline, event and state at one place of the log, which the slider moves.

import { curl, get, path, sessionPath, withQuery } from './api.js';
import { copy, facts, field, fill, h, isAsking, toast, wordInput } from './dom.js';
import { editState } from './edit.js';
import { EventView } from './event.js';
import { Files } from './files.js';
import { Finder } from './find.js';
import { History } from './history.js';
import { compose, quote, read } from './json.js';
import { mayOperate, mayWrite } from './access.js';
import { around } from './around.js';
import { remember } from './recent.js';
import { ask, complain, exportButton, newKey } from './request.js';
import { appAddress, compareAddress, go, note, sessionAddress, userAddress } from './router.js';
import { onFrame, oneAtATime } from './schedule.js';
import { followShared } from './shared.js';
import { Slider } from './slider.js';
import { compare, States, StateView } from './states.js';
import { preview } from './takeback.js';
import { Timeline } from './timeline.js';
import { clock } from './times.js';
import { Cost } from './turns.js';

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
	mayWrite = mayWrite();
	scroll = ''; // what the next drawing calls of the timeline: toEnd, reveal or focus

	constructor({ root, app, user, id, signal, setTitle }) {
		Object.assign(this, { root, app, user, id, signal, setTitle });
		this.path = sessionPath(app, user, id);
		this.drawSoon = onFrame(() => this.#drawNow(), signal);
		this.keepState = oneAtATime(() => this.#drawState(), signal);
		this.history = new History(this.path, signal);
		this.states = new States(this.path, signal);
		this.finder = new Finder(this);
		this.timeline = new Timeline(this);
		this.cost = new Cost();
		this.eventView = new EventView((view) => { this.view = view; this.draw(); });
		this.files = new Files({ of: this.path, title: 'Files', mayEdit: this.mayWrite, signal });
		this.stateView = new StateView(this);
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
		this.history.revision = json.number('revision');
		this.history.base = json.number('baseRevision') ?? 0;
		remember({ app: this.app, user: this.user, id: this.id, title: json.string('displayName') });
		this.#drawHead();
		await this.update(query);
		this.askRewound();
		this.#follow();
		this.#askForks().catch(() => {});
	}

	/** Marks forks, the 200 latest. */
	async #askForks() {
		const query = { forkedFrom: this.id, orderBy: 'createTime', order: 'desc', pageSize: 200 };
		const { json } = await get(withQuery(path('apps', this.app, 'users', this.user, 'sessions'), query), this.signal);
		for (const session of json.get('sessions').items) {
			const id = session.string('id');
			const link = h('a', { href: sessionAddress(this.app, this.user, id), title: session.string('displayName') }, h('bdi', id)); // its title is mostly that of its source
			this.timeline.forks.push({ revision: session.number('forkedFrom', 'revision'), link });
		}
		if (this.timeline.forks.length) this.draw();
	}

	/** Takes what an address says. A `file` with its `version` is shown once. */
	async update({ at, event, view, against, find = '', only, file, version }) {
		this.finder.only.checked = only === 'true';
		if (this.finder.text !== find) {
			this.finder.input.value = find;
			this.finder.forget();
			this.finder.look().catch(complain);
		}
		if (['content', 'actions', 'raw'].includes(view)) this.view = view;
		if (['previous', 'start', 'now'].includes(against)) this.against = against;
		let place = /^\d+$/.test(at ?? '') ? Number(at) : undefined;
		if (place === undefined && event) {
			const { json } = await get(`${this.path}/events/${encodeURIComponent(event)}`, this.signal);
			place = json.number('sequence');
		}
		this.place = place === undefined ? undefined : Math.min(Math.max(place, this.history.base), this.history.revision);
		await this.#load();
		this.draw(this.isAtEnd ? 'toEnd' : 'reveal');
		if (file && version) this.files.open(file, version).catch(complain);
	}

	/** To a revision; at the last one new events are followed. */
	goTo(revision, scroll = 'reveal') {
		const { base, revision: last } = this.history;
		const place = Math.min(Math.max(revision, base), last);
		this.place = place === last ? undefined : place;
		this.draw(scroll);
		clearTimeout(this.loading);
		if (this.history.has(this.at) || this.at === base) return;
		this.loading = setTimeout(() => this.#load().then(() => {
			this.draw(scroll);
			this.askRewound();
		}).catch(complain), DEBOUNCE);
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
		const { history, at } = this;
		if (!history.has(at)) await (this.isAtEnd ? history.openAtEnd() : history.openAround(at));
	}

	/** Reads on at a `side` of the window, older or newer. */
	async more(side) {
		if (this.paging) return;
		this.paging = true;
		try {
			await this.history[side]();
			this.draw();
			await this.history.askRewound();
			this.draw();
		} catch (error) {
			complain(error);
		} finally {
			this.paging = false;
		}
	}

	askRewound() {
		this.history.askRewound().then(() => this.draw()).catch(() => {});
	}

	#starts() {
		const { events } = this.history;
		return events.filter((event, index) => event.invocation !== events[index - 1]?.invocation).map((event) => event.sequence);
	}

	draw(scroll) {
		this.scroll = scroll ?? this.scroll;
		this.drawSoon();
	}

	#drawNow() {
		const { history, at } = this;
		const event = history.find(at);
		const { found } = this.finder;
		this.timeline.hits = new Set(found);
		this.timeline.draw(at);
		this.finder.draw(found);
		this.cost.draw(history.turns, history.some);
		this.timeline[this.scroll]?.();
		this.scroll = '';
		if (event || at === history.base) this.eventView.draw(event, this.view, this.session);
		const text = event ? `event ${at} of ${history.revision}, ${event.speaker || 'no author'}, ${clock(event.time)}` : `revision ${at} of ${history.revision}`;
		this.slider.draw({ base: history.base, revision: history.revision, at, text, starts: this.#starts() });
		this.#drawLive();
		note(sessionAddress(this.app, this.user, this.id, {
			at: this.place, view: this.view === 'content' ? undefined : this.view,
			against: this.against === 'previous' ? undefined : this.against, find: this.finder.text, only: this.finder.only.checked || undefined,
		}));
		if (this.isAtEnd && history.hasNewer && this.timeline.isAtEnd) this.#catchUp();
		this.keepState();
	}

	/** Reads the end anew, for events that the stream did not show. */
	async #catchUp() {
		if (this.isCatching) return;
		this.isCatching = true;
		await this.history.openAtEnd().then(() => this.askRewound()).catch(complain);
		this.isCatching = false;
		if (this.isAtEnd) this.draw('toEnd');
		else this.goTo(this.at, ''); // one went elsewhere meanwhile
	}

	async #drawState() {
		const { at, against, place, isAtEnd } = this;
		const { base, revision } = this.history;
		this.files.show(place).catch(complain);
		try {
			const other = { now: undefined, start: base, previous: Math.max(base, at - 1) }[against];
			const [shown, compared] = await Promise.all([place, other].map((one) => this.states.at(one)));
			if (place !== this.place || against !== this.against || this.signal.aborted) return;
			const rows = against === 'now' ? compare(shown, compared) : compare(compared, shown);
			const title = isAtEnd ? 'State now' : against === 'now' ? `State ${at} → now` : `State at ${at}`;
			this.stateView.draw({ rows, title, text: shown.text });
			if (at > base) this.states.prefetch(at - 1);
			if (at < revision) this.states.prefetch(at + 1);
		} catch (error) {
			if (error.name !== 'AbortError' && place === this.place) this.stateView.fail(error);
		}
	}

	#drawHead() {
		const title = this.session.string('displayName');
		const labels = this.session.get('labels')?.members ?? [];
		const from = this.session.get('forkedFrom');
		this.setTitle(title ?? this.id);
		fill(this.head,
			h('nav.crumbs', { 'aria-label': 'Where this is' },
				h('a', { href: appAddress(this.app) }, h('bdi', this.app)), h('span.slash', '/'),
				h('a', { href: userAddress(this.app, this.user) }, h('bdi', this.user)), h('span.slash', '/'),
				h('h1', h('bdi', title ?? this.id))),
			h('div.marks',
				title && h('bdi.id', this.id), this.around ??= around(this),
				labels.map(({ key, value }) => h('bdi.label', `${key.string()}=${value.string()}`)),
				from && h('a.label', { href: sessionAddress(this.app, this.user, from.string('sessionId'), { at: from.get('revision').text }) },
					'fork of ', h('bdi', from.string('sessionId')), ` at ${from.get('revision').text}`)),
			this.cost.element, this.live);
	}

	#foot() {
		const button = (label, action, title, key) =>
			h('button', { title: title + (key ? ` (${key})` : ''), 'aria-keyshortcuts': key, click: action }, label);
		this.writing = this.mayWrite ? [
			button('Edit state', () => this.edit(), 'Change state by operators', 'e'),
			button('Fork here', () => this.fork(), 'A new session with the events up to here', 'f'),
			button('Rewind to here', () => this.rewind(), 'One more event restores the session state of here'),
			mayOperate(this.app, 'trim') && button('Redact', () => this.redact(), 'Removes what this event says'),
			mayOperate(this.app, 'trim') && button('Trim to here', () => this.trim(), 'Removes the events up to here'),
		].filter(Boolean) : [];
		// On a small screen they are a menu, which gives the focus back before a dialog takes it.
		const buttons = h('div.buttons', { id: 'actions', popover: true }, this.writing, button('Copy as curl', () => this.copyCurl(), 'The requests of this view', 'y'),
			mayOperate(this.app, 'export') && exportButton(this.path, this.id));
		buttons.addEventListener('click', () => buttons.hidePopover(), true);
		return h('footer.foot', this.slider.element, h('button.menu', { popovertarget: 'actions' }, 'Actions'), buttons);
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
		editState({ path: `${this.path}/state`, title: 'Edit state', key, signal: this.signal }).catch(complain);
	}

	fork() {
		const { at } = this;
		const headers = { 'Idempotency-Key': newKey() };
		const id = wordInput({ placeholder: 'generated' });
		ask({
			title: `Fork at event ${at}`,
			about: `Makes a new session with ${at === 0 ? 'no events' : `the events 1 to ${at}`} and the session state of that moment. This one stays as it is.`,
			fields: [field('Id of the new session', id)],
			action: 'Fork',
			request: () => ({
				method: 'POST', path: `${this.path}/fork`, headers,
				body: compose({ atRevision: String(at), sessionId: id.value ? quote(id.value) : undefined }),
			}),
			done: ({ json }) => go(sessionAddress(this.app, this.user, json.string('id'))),
		});
	}

	/** Asks for what is refused (412) while there are events that were not seen. Told of them, one may ask again. */
	#ask({ path, headers, body, past, news, ...rest }) {
		let seen = this.history.revision;
		ask({
			...rest,
			danger: true,
			request: () => ({ method: 'POST', path: this.path + path, headers: { 'If-Match': `"${seen}"`, ...headers }, body: typeof body === 'function' ? body() : body }),
			failed: (problem, { trouble, build }) => {
				const revision = problem.status === 412 && problem.body?.number('revision');
				if (!revision) return false;
				fill(trouble, h('p', h('b', `Nothing was ${past}: event${revision > seen + 1 ? `s ${seen + 1} to` : ''} ${revision} came meanwhile.`),
					` Look at what is new first, or press ${rest.action} again.`));
				seen = revision;
				news?.();
				build();
				return true;
			},
		});
	}

	rewind() {
		const { at } = this;
		this.#rewind(at, {
			title: `Rewind to event ${at}`, action: 'Rewind', past: 'rewound', body: compose({ toRevision: String(at) }),
			about: `Appends one event that restores the session's own state as it was after event ${at}. Nothing is removed; app and user state stay as they are.`,
		});
	}

	/** A turn, or a rewind, with all that came after it. */
	async takeBack({ invocation, events: [{ sequence, rewinds }] }) {
		let first = sequence;
		const isUndo = rewinds !== undefined;
		if (!isUndo) { // it may have begun before what is loaded
			const { json } = await get(withQuery(`${this.path}/events`, { invocationId: invocation, pageSize: 1 }), this.signal);
			first = json.get('events').items[0]?.number('sequence') ?? sequence;
		}
		const [title, action, past, what] = isUndo ? [`Undo event ${first}`, 'Undo', 'undone', 'the rewind'] : [`Take back from event ${first} on`, 'Take back', 'taken back', 'this turn'];
		if (isAsking()) return;
		this.#rewind(first - 1, {
			title, action, past, body: compose(isUndo ? { toRevision: String(first - 1) } : { beforeInvocationId: quote(invocation) }),
			about: `Appends one event that takes back ${what} and what came after it. Nothing is removed; app and user state stay as they are.`,
		});
	}

	#rewind(to, rest) {
		const fields = h('div', preview(this, to));
		this.#ask({
			...rest, fields, said: `It was ${rest.past}`, news: () => fill(fields, preview(this, to)),
			path: '/rewind', headers: { 'Idempotency-Key': newKey() }, done: () => this.tail(),
		});
	}

	/** Of a fork, with its source; else with the present. */
	compare() {
		const source = this.session.get('forkedFrom')?.string('sessionId');
		go(compareAddress(this.app, this.user, this.id, { at: source || !this.isAtEnd ? this.place : Math.max(this.history.base, this.at - 1), with: source }));
	}

	redact() {
		const event = this.history.find(this.at);
		if (!event) return;
		const reason = wordInput({ maxlength: 256 });
		const state = h('select', h('option', { value: 'keep' }, 'keep'), h('option', { value: 'remove' }, 'remove'));
		const { line: { text }, changed } = event;
		this.#ask({
			title: `Redact event ${event.sequence}`, id: event.id,
			about: 'Removes what this event says, here and in its forks, for good. The event stays in its place.',
			fields: [
				facts([['Goes', h('bdi', text)], changed.length > 0 && ['State', h('bdi', changed.join(', '))]]),
				field('Reason, which is shown', reason),
				changed.length > 0 && field('Values that it set', state, 'remove takes them from the state and from its past'),
			],
			action: 'Redact', past: 'redacted', said: 'Redacted',
			path: `/events/${encodeURIComponent(event.id)}/redact`,
			body: () => compose({ reason: reason.value ? quote(reason.value) : undefined, state: state.value === 'remove' ? quote('remove') : undefined }),
			done: ({ json }) => this.#redacted(this.history.describe(json)),
		});
	}

	/** Past states may lack values now. */
	#redacted(event) {
		this.history.replace(event);
		this.states.forget();
		this.draw();
	}

	trim() {
		const { at, id } = this;
		this.#ask({
			title: `Trim to event ${at}`, id,
			about: `Removes the events up to ${at} for good. The state stays; what was before cannot be seen any more.`,
			action: 'Trim', past: 'trimmed',
			path: '/trim', body: `{"beforeSequence":${at + 1}}`,
			done: ({ json }) => {
				toast(`${json.get('trimmedEvents').text} events trimmed`);
				this.#trimmed(json.number('baseRevision'));
			},
		});
	}

	#trimmed(base) {
		this.history.trimmed(base);
		this.goTo(this.at);
	}

	copyCurl() {
		const event = this.history.find(this.at);
		const requests = [
			{ path: this.states.address(this.place) },
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
					const event = this.history.describe(read(data));
					if (id && event.sequence >= parseInt(position, 10)) position = id;
					this.#arrived(event);
				} else if (kind === 'state') {
					if (this.isAtEnd || this.against === 'now') this.draw();
				} else if (kind === 'metadata') {
					this.#metadata(read(data));
				} else if (kind === 'trimmed') {
					position = read(data).get('baseRevision').text;
					this.#trimmed(Number(position));
				} else if (kind === 'redacted') {
					this.#redacted(this.history.describe(read(data)));
				} else if (kind === 'deleted') {
					end(read(data).string('reason') ?? 'deleted');
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
		if (event.rewinds !== undefined || history.asModel) this.askRewound();
		if (event.files.length > 0) this.files.at = null;
		this.draw(this.isAtEnd && timeline.isAtEnd && !this.scroll ? 'toEnd' : undefined);
		announce(`Event ${event.sequence}, ${event.speaker}: ${event.line.text}`);
	}

	#ended(word) {
		this.status = ENDS[word] ?? word;
		this.#drawLive();
		if (!ENDS[word]) return;
		for (const button of [...this.writing, this.files.button]) button.disabled = true;
		this.mayWrite = false;
		this.draw();
		fill(this.gone, `This session was ${this.status}. What is shown here is how it was.`);
	}

	#metadata(metadata) {
		const kept = this.session.members.filter(({ key }) => !['displayName', 'labels', 'expireTime'].includes(key.string()));
		const set = metadata.members.filter(({ value }) => value.text !== 'null');
		this.session.members = [...kept, ...set];
		this.#drawHead();
	}

	/** Nothing that takes something away. */
	keys() {
		const move = (distance) => () => this.goTo(this.timeline.next(this.at, distance), 'focus');
		const slide = (distance) => () => this.goTo(this.at + distance);
		const find = () => { this.#showPane(PANES[0]); this.finder.input.focus(); };
		return {
			j: move(1), k: move(-1), '[': slide(-1), ']': slide(1), '{': () => this.step(-1), '}': () => this.step(1),
			t: () => this.tail(), y: () => this.copyCurl(), '/': find, c: () => this.compare(),
			...(this.mayWrite && { e: () => this.edit(), f: () => this.fork() }),
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
