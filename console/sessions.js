// The sessions of an app or a user, with filters and an order that the address holds.

import { curl, firstSession, path, withQuery } from './api.js';
import { saveCsv } from './csv.js';
import { copy, example, field, h, wordInput } from './dom.js';
import { compose, quote, read } from './json.js';
import { PagedTable } from './paged.js';
import { ask, complain } from './request.js';
import { go, href, note, sessionAddress, userAddress } from './router.js';
import { span, time } from './times.js';

const DEBOUNCE = 200;
const PAGE = 50;
const CSV = 'Save as CSV';
const ORDER = { orderBy: 'lastUpdateTime', order: 'desc' };
const FIELDS = ['id', 'userId', 'displayName', 'labels', 'revision', 'createTime', 'lastUpdateTime', 'expireTime', 'forkedFrom'];

export class SessionList {
	filters = {}; // by their names in the API, and the order, if it is another one

	/**
	 * Without `user`, those of all users. `owner` is whose first session the example makes. `remove(id)` is the button of a row.
	 * `beside()` is what the address of the page has besides the filters.
	 */
	constructor({ app, user, owner, signal, remove, beside = () => ({}) }) {
		Object.assign(this, { app, user, owner, signal, remove, beside });
		this.path = user === undefined ? path('apps', app, 'sessions') : path('apps', app, 'users', user, 'sessions');
		this.inputs = Object.fromEntries([
			['title', this.#filter('Title or id has')],
			user === undefined && ['userPrefix', this.#filter('User begins with')],
			['idPrefix', this.#filter('Id begins with')],
		].filter(Boolean));
		this.label = wordInput({
			size: 16, 'aria-label': 'Label, as name=value', placeholder: 'label=value',
			pattern: '[a-z0-9_.\\-]{1,63}=.*', title: 'A label as name=value; Enter adds it',
		});
		this.labels = h('span.chips');
		const submit = (event) => { event.preventDefault(); this.#addLabel(); };
		const form = h('form.filters', { role: 'search', 'aria-label': 'Filter sessions', submit },
			Object.values(this.inputs), this.label, h('button.unseen', { type: 'submit', tabindex: -1 }, 'Add the label'), this.labels,
			this.saving = h('button', { click: () => this.#save().catch(complain) }, CSV));
		this.table = new PagedTable({
			label: 'Sessions', items: 'sessions', signal,
			columns: [
				{ title: 'Session' }, user === undefined && { title: 'User', look: 'user' }, { title: 'Labels', look: 'labels' },
				{ title: 'Events', look: 'number' }, { title: 'Duration', look: 'span' },
				{ title: 'Created', look: 'when.created', by: 'createTime' }, { title: 'Updated', look: 'when', by: 'lastUpdateTime' }, remove && { title: h('span.unseen', 'Actions'), look: 'act' },
			].filter(Boolean),
			sort: { by: () => Object.values(this.#order()), choose: (by) => this.#sort(by) },
			address: () => this.#address(PAGE), row: (session) => this.#row(session), empty: () => this.#empty(),
		});
		this.element = h('section.sessions', { 'aria-label': 'Sessions' }, form, this.table.element);
	}

	#address(pageSize) {
		return withQuery(this.path, { ...ORDER, pageSize, ...this.filters });
	}

	/** Of both, the API's names and values. */
	#order({ orderBy, order } = this.filters) {
		return { orderBy: orderBy ?? ORDER.orderBy, order: order ?? ORDER.order };
	}

	/** By another column, latest first; by the same, the other way round. */
	#sort(by) {
		const { orderBy, order } = this.#order();
		const next = { orderBy: by, order: by === orderBy && order === 'desc' ? 'asc' : 'desc' };
		this.#change(Object.fromEntries(Object.entries(next).map(([name, value]) => [name, value === ORDER[name] ? '' : value])));
	}

	/** All that the filters leave, in their order, as a file. Pressed again, it stops. */
	async #save() {
		if (this.stop) return this.stop.abort();
		this.stop = new AbortController();
		try {
			await saveCsv({
				name: [this.app, this.user, 'sessions'].filter(Boolean).join('-'), address: this.#address(), items: 'sessions', fields: FIELDS,
				signal: AbortSignal.any([this.signal, this.stop.signal]),
				onRows: (count) => { this.saving.textContent = `Stop at ${count.toLocaleString('en')}`; },
			});
		} finally {
			this.stop = undefined;
			this.saving.textContent = CSV;
		}
	}

	/** Takes the filters that an address has. */
	async update(query) {
		const isFilter = (name) => name in this.inputs || name in ORDER || name.startsWith('label.');
		const filters = Object.fromEntries(Object.entries(query).filter(([name]) => isFilter(name)));
		for (const [name, input] of Object.entries(this.inputs)) input.value = filters[name] ?? '';
		await this.#apply(filters);
	}

	async #apply(filters) {
		this.filters = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
		this.#drawLabels();
		await this.table.load();
	}

	keys() {
		return { ...this.table.keys(), y: () => copy(this.curl()) };
	}

	/** The request of this list. */
	curl() {
		return curl({ path: this.#address(PAGE) });
	}

	/** Takes what is typed, and other changes. */
	#change(other) {
		clearTimeout(this.waiting);
		if (this.signal.aborted) return;
		const typed = Object.entries(this.inputs).map(([name, input]) => [name, input.value]);
		const filters = { ...this.filters, ...Object.fromEntries(typed), ...other };
		this.note(filters);
		this.#apply(filters).catch(complain);
	}

	/** Writes into the address what the page shows. */
	note(filters = this.filters) {
		note(this.#here(filters));
	}

	#here(filters) {
		const query = { ...filters, ...this.beside() };
		return this.user === undefined ? href(['app', this.app], query) : userAddress(this.app, this.user, query);
	}

	/** To other filters; the rest of the address is that of the moment of the click. */
	#link(filters, attributes, content) {
		const click = ({ currentTarget }) => { currentTarget.href = this.#here(filters); };
		return h('a', { href: this.#here(filters), click, ...attributes }, content);
	}

	#filter(label) {
		return wordInput({
			type: 'search', size: 16, 'aria-label': label, placeholder: label, 'data-filter': true,
			input: () => {
				clearTimeout(this.waiting);
				this.waiting = setTimeout(() => this.#change(), DEBOUNCE);
			},
		});
	}

	#addLabel() {
		const [, name, value] = /^([^=]+)=(.*)$/s.exec(this.label.value) ?? [];
		this.label.value = '';
		this.#change(name && { [`label.${name}`]: value });
	}

	#drawLabels() {
		const chosen = Object.entries(this.filters).filter(([name]) => name.startsWith('label.'));
		this.labels.replaceChildren(...chosen.map(([name, value]) => {
			const text = `${name.slice('label.'.length)}=${value}`;
			const drop = () => {
				this.#change({ [name]: '' });
				this.label.focus();
			};
			return h('button.chip', { 'aria-label': `Remove the filter ${text}`, click: drop }, h('bdi', text), ' ×');
		}));
	}

	#row(session) {
		const [id, user, title] = ['id', 'userId', 'displayName'].map((name) => session.string(name));
		const fork = session.string('forkedFrom', 'sessionId');
		const labels = (session.get('labels')?.members ?? []).map(({ key, value }) => [key.string(), value.string()]);
		const address = sessionAddress(this.app, user, id);
		return h('tr',
			h('td', h('div.cell', h('a.open', { href: address, title: title ? `${title}\n${id}` : id }, h('bdi', title || id),
				title && [' ', h('bdi.id', id)]), fork !== undefined && h('span.label', { title: `Fork of ${fork}` }, 'fork'))),
			this.user === undefined && h('td.user', h('a', { href: userAddress(this.app, user), title: user }, h('bdi', user))),
			h('td.labels', labels.map(([name, value]) =>
				this.#link({ ...this.filters, [`label.${name}`]: value }, { class: 'label', title: `Only sessions with ${name}=${value}` }, h('bdi', `${name}=${value}`)))),
			h('td.number', session.get('revision').text),
			h('td.span', duration(session)),
			h('td.when.created', time(session.number('createTime'))),
			h('td.when', time(session.number('lastUpdateTime'))),
			this.remove && h('td.act', h('button.quiet', { 'aria-label': `Delete ${id}`, click: () => this.remove(id) }, 'Delete…')));
	}

	#empty() {
		if (Object.keys(this.filters).some((name) => !(name in ORDER))) {
			return h('div.empty', h('p', 'No session fits these filters. ', this.#link({}, {}, 'Show all')),
				example(this.curl()));
		}
		return h('div.empty', h('p', 'There are no sessions here yet.', this.owner && ' The first one:'),
			this.owner && example(firstSession(this.app, this.owner)));
	}
}

/** From its creation to its last event; nothing where its events are older than it is. */
function duration(session) {
	const seconds = session.number('lastUpdateTime') - session.number('createTime');
	return seconds > 0 ? span(seconds).slice(1) : '–';
}

/** The dialog that creates a session. Without `user`, it asks for one. */
export function createSession({ app, user, suggestion = '' }) {
	const owner = wordInput({ value: user ?? suggestion, required: true });
	const id = wordInput({ placeholder: 'generated' });
	const title = wordInput({ spellcheck: 'true' });
	const state = h('textarea', { rows: 4, spellcheck: 'false', placeholder: '{"topic": "billing", "user:name": "Ada"}' });
	const labels = h('textarea', { rows: 2, spellcheck: 'false', placeholder: 'team=returns' });
	ask({
		title: 'New session',
		fields: [
			user === undefined && field('User', owner), field('Id', id), field('Title', title),
			field('State, as JSON', state, 'Keys that begin with app: or user: go to the shared state of the app or the user.'),
			field('Labels', labels, 'One name=value a line.'),
		],
		action: 'Create',
		request: () => {
			if (!owner.value) throw new Error('Name the user.');
			return {
				method: 'POST', path: path('apps', app, 'users', owner.value, 'sessions'),
				body: compose({
					sessionId: id.value ? quote(id.value) : undefined,
					displayName: title.value ? quote(title.value) : undefined,
					labels: labelsOf(labels.value),
					state: stateOf(state.value),
				}),
			};
		},
		done: ({ json }) => go(sessionAddress(app, json.string('userId'), json.string('id'))),
	});
}

function labelsOf(text) {
	const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
	if (lines.length === 0) return undefined;
	return compose(Object.fromEntries(lines.map((line) => {
		const at = line.indexOf('=');
		if (at < 1) throw new Error(`A label is name=value: ${line}`);
		return [line.slice(0, at), quote(line.slice(at + 1))];
	})));
}

/** The text goes out as it was typed. */
function stateOf(text) {
	if (text.trim() === '') return undefined;
	if (read(text).kind !== 'object') throw new Error('The state is an object: {"key": value}');
	return text.trim();
}
