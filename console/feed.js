// The change feed: what changes in all apps, in one, or of a user, as it happens.

import { curl, get, path, Problem, withQuery } from './api.js';
import { copyButton, example, fill, h, wordInput } from './dom.js';
import { rowKeys } from './paged.js';
import { complain, problemText } from './request.js';
import { appAddress, href, note, sessionAddress, userAddress } from './router.js';
import { visible, withSlot } from './shared.js';
import { rest } from './sse.js';
import { time } from './times.js';

const DEBOUNCE = 300;
const MOST = 500; // rows that are kept
const EVERY = 2500; // between two pages, where there is no place to wait for one
const WAIT = 20;
const KINDS = ['session.created', 'events', 'session.updated', 'session.trimmed', 'session.deleted', 'event.redacted',
	'user.state', 'app.state', 'user.erased', 'artifact.saved', 'artifact.deleted'];

export async function openFeed({ root, query, signal }) {
	const feed = new Feed(signal);
	fill(root, h('div.plain', h('header.bar', h('h1', 'Feed'), feed.button, copyButton('Copy as curl', () => feed.curl())), feed.element));
	await feed.update(query);
	return feed;
}

class Feed {
	#turn = new AbortController();

	constructor(signal) {
		this.signal = signal;
		const typed = () => { clearTimeout(this.waiting); this.waiting = setTimeout(() => this.#changed(), DEBOUNCE); };
		const input = (label) => wordInput({ type: 'search', size: 16, 'aria-label': label, placeholder: label, input: typed });
		this.inputs = { app: input('App'), user: input('User'), kinds: h('select', { 'aria-label': 'Kind', change: () => this.#changed() },
			h('option', { value: '' }, 'all kinds'), KINDS.map((kind) => h('option', kind))) };
		this.inputs.app.dataset.filter = true;
		this.button = h('button.live', { 'aria-pressed': 'true', click: () => this.#toggle() }, 'Live');
		this.body = h('tbody');
		this.table = h('table.feed', { 'aria-label': 'Changes', hidden: true },
			h('thead', h('tr', [['Time', 'when'], ['Kind', 'kind'], ['App', 'user'], ['User', 'user'], ['What']].map(([title, look]) => h(`th${look ? `.${look}` : ''}`, { scope: 'col' }, title)))), this.body);
		this.notice = h('div');
		this.element = h('section.sessions', { 'aria-label': 'Changes' },
			h('form.filters', { role: 'search', 'aria-label': 'Filter changes', submit: (event) => event.preventDefault() }, Object.values(this.inputs)), this.notice, this.table);
		signal.addEventListener('abort', () => this.#turn.abort());
	}

	get path() {
		const { app, user } = this.filters;
		return app ? path('apps', app, ...user ? ['users', user] : [], 'feed') : '/v1/feed';
	}

	curl() {
		return curl({ path: withQuery(this.path, { kinds: this.filters.kinds, include: 'none' }) });
	}

	keys() {
		return rowKeys(this.body);
	}

	/** Takes the filters that an address has. */
	async update(query) {
		this.filters = Object.fromEntries(Object.keys(this.inputs).map((name) => [name, query[name] ?? '']));
		for (const [name, control] of Object.entries(this.inputs)) control.value = this.filters[name];
		this.inputs.user.disabled = !this.filters.app;
		this.position = undefined;
		this.body.replaceChildren();
		this.#run();
	}

	#changed() {
		clearTimeout(this.waiting);
		if (this.signal.aborted) return;
		const query = Object.fromEntries(Object.entries(this.inputs).map(([name, control]) => [name, control.value]));
		if (!query.app) query.user = '';
		note(href(['feed'], query));
		this.update(query).catch(complain);
	}

	#toggle() {
		if (this.#turn.signal.aborted) this.#run();
		else this.#turn.abort();
		this.#draw();
	}

	/** Reads page after page until it is paused. */
	async #run() {
		this.#turn.abort();
		const turn = this.#turn = new AbortController();
		this.#draw();
		while (!turn.signal.aborted) {
			await visible(turn.signal);
			try {
				const goesOn = this.position === undefined ? await this.#begin(turn.signal) : await this.#next(turn.signal);
				if (!goesOn && !turn.signal.aborted && !this.hadSlot) await rest(EVERY, turn.signal);
			} catch (error) {
				if (turn.signal.aborted) return;
				if (!(error instanceof Problem)) throw error;
				if (error.code === 'position_gone') {
					this.position = undefined; // it began anew
				} else if (error.isFinal) {
					turn.abort();
					this.#draw();
					return fill(this.notice, h('div.failure', problemText(error)));
				}
				await rest(EVERY, turn.signal);
			}
		}
	}

	#page(query, signal) {
		return get(withQuery(this.path, { include: 'none', kinds: this.filters.kinds, ...query }), signal).then(({ json }) => json);
	}

	/** What is kept, if it is one page; else from now on. */
	async #begin(signal) {
		let page = await this.#page({ pageSize: 1000 }, signal);
		const isAll = page.get('upToDate').text === 'true';
		if (!isAll) page = await this.#page({ after: 'now' }, signal);
		this.#take(page);
		const text = isAll ? 'No change like this yet. The next shows here; a program reads it like this:'
			: 'The next change shows here. There are more than fit here; a program reads them from the start:';
		this.hint = h('div.empty', h('p', text), example(this.curl()));
		this.#draw();
		return true;
	}

	/** The changes behind the position; waits for them if this browser has a stream to spare. */
	async #next(signal) {
		let page;
		const read = (wait) => this.#page({ after: this.position, pageSize: MOST, wait }, signal).then((json) => { page = json; });
		this.hadSlot = navigator.locks !== undefined && await withSlot(() => read(WAIT));
		if (!this.hadSlot) await read();
		if (signal.aborted) return false;
		this.#take(page);
		this.#draw();
		return page.get('upToDate').text !== 'true';
	}

	#take(page) {
		this.position = page.string('position');
		this.body.prepend(...page.get('changes').items.slice(-MOST).map(row).reverse());
		while (this.body.childElementCount > MOST) this.body.lastElementChild.remove();
	}

	#draw() {
		const isLive = !this.#turn.signal.aborted;
		this.button.textContent = isLive ? 'Live' : 'Paused: go on';
		this.button.dataset.status = isLive ? 'live' : 'ended';
		this.button.setAttribute('aria-pressed', String(isLive));
		this.table.hidden = this.body.childElementCount === 0;
		fill(this.notice, this.table.hidden && this.hint);
	}
}

function row(change) {
	const word = (name) => change.string(name);
	const text = (name) => change.get(name)?.text;
	const [kind, app, user, session] = ['kind', 'appName', 'userId', 'sessionId'].map(word);
	const [first, last] = ['firstSequence', 'lastSequence'].map(text);
	const artifact = word('name');
	const about = [
		last && (first === last ? `event ${last}` : `events ${first}–${last}`),
		kind === 'event.redacted' && `event ${text('sequence')}`,
		artifact !== undefined && `${artifact}${text('version') ? ` version ${text('version')}` : ''}`,
		word('reason'),
		kind === 'session.trimmed' && `up to event ${text('baseRevision')}`,
		kind.endsWith('.state') && `revision ${text('revision')}`,
	].filter(Boolean).join(', ');
	const at = kind === 'events' ? last : kind === 'event.redacted' ? text('sequence') : undefined;
	const place = session === undefined || user === undefined ? about
		: kind === 'session.deleted' ? [h('bdi', session), ' ', h('span.dim', about)]
			: [h('a.open', { href: sessionAddress(app, user, session, { at }), title: session }, h('bdi', session)), ' ', h('bdi.dim', about)];
	return h('tr', h('td.when', time(change.number('time'))), h('td.kind', kind),
		h('td.user', h('a', { href: appAddress(app), title: app }, h('bdi', app))),
		h('td.user', user !== undefined && h('a', { href: userAddress(app, user), title: user }, h('bdi', user))),
		h('td', place));
}
