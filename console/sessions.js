// The sessions of an app or of one of its users: newest first, with filters that the address of the page holds.

import { curl, path, withQuery } from './api.js';
import { copy, h, wordInput } from './dom.js';
import { PagedTable } from './paged.js';
import { complain } from './request.js';
import { href, note, sessionAddress, userAddress } from './router.js';
import { time } from './times.js';

const DEBOUNCE = 200;
const PAGE = 50;

export class SessionList {
	filters = {}; // by their names in the API

	/**
	 * Without `user`, those of all users. `owner` is whose first session the example makes, if one may.
	 * `remove(id)` is what the button at the end of a row does, if there is one.
	 */
	constructor({ app, user, owner, signal, remove }) {
		Object.assign(this, { app, user, owner, signal, remove });
		this.path = user === undefined ? path('apps', app, 'sessions') : path('apps', app, 'users', user, 'sessions');
		this.inputs = Object.fromEntries([
			user === undefined && ['userPrefix', this.#prefix('User begins with')],
			['idPrefix', this.#prefix('Id begins with')],
		].filter(Boolean));
		this.label = wordInput({
			size: 16, 'aria-label': 'Label, as name=value', placeholder: 'label=value',
			pattern: '[a-z0-9_.\\-]{1,63}=.*', title: 'A label as name=value; Enter adds it',
		});
		this.labels = h('span.chips');
		const submit = (event) => { event.preventDefault(); this.#addLabel(); };
		const form = h('form.filters', { role: 'search', 'aria-label': 'Filter sessions', submit },
			Object.values(this.inputs), this.label, h('button.unseen', { type: 'submit', tabindex: -1 }, 'Add the label'), this.labels);
		this.table = new PagedTable({
			label: 'Sessions', items: 'sessions', signal,
			columns: [
				{ title: 'Session' }, user === undefined && { title: 'User', look: 'user' }, { title: 'Labels', look: 'labels' },
				{ title: 'Events', look: 'number' }, { title: 'Updated', look: 'when' }, remove && { title: h('span.unseen', 'Actions'), look: 'act' },
			].filter(Boolean),
			address: () => this.#address(), row: (session) => this.#row(session), empty: () => this.#empty(),
		});
		this.element = h('section.sessions', { 'aria-label': 'Sessions' }, form, this.table.element);
	}

	#address() {
		return withQuery(this.path, { orderBy: 'lastUpdateTime', order: 'desc', pageSize: PAGE, ...this.filters });
	}

	/** Takes the filters that an address has. */
	async update(query) {
		const isFilter = (name) => name in this.inputs || name.startsWith('label.');
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
		return curl({ path: this.#address() });
	}

	/** Takes what is typed, and changes of labels. */
	#change(labels) {
		clearTimeout(this.waiting);
		if (this.signal.aborted) return;
		const typed = Object.entries(this.inputs).map(([name, input]) => [name, input.value]);
		const filters = { ...this.filters, ...Object.fromEntries(typed), ...labels };
		note(this.#here(filters));
		this.#apply(filters).catch(complain);
	}

	#here(filters) {
		return this.user === undefined ? href(['app', this.app], filters) : userAddress(this.app, this.user, filters);
	}

	#prefix(label) {
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
		const filter = (name, value) => this.#here({ ...this.filters, [`label.${name}`]: value });
		const address = sessionAddress(this.app, user, id);
		return h('tr',
			h('td', h('div.cell', h('a.open', { href: address, title: title ? `${title}\n${id}` : id }, h('bdi', title || id),
				title && [' ', h('bdi.id', id)]), fork !== undefined && h('span.label', { title: `Fork of ${fork}` }, 'fork'))),
			this.user === undefined && h('td.user', h('a', { href: userAddress(this.app, user), title: user }, h('bdi', user))),
			h('td.labels', labels.map(([name, value]) =>
				h('a.label', { href: filter(name, value), title: `Only sessions with ${name}=${value}` }, h('bdi', `${name}=${value}`)))),
			h('td.number', session.get('revision').text),
			h('td.when', time(session.number('lastUpdateTime'))),
			this.remove && h('td.act', h('button.quiet', { 'aria-label': `Delete ${id}`, click: () => this.remove(id) }, 'Delete…')));
	}

	#empty() {
		if (Object.keys(this.filters).length > 0) {
			return h('div.empty', h('p', 'No session fits these filters. ', h('a', { href: this.#here({}) }, 'Show all')),
				h('pre.example', this.curl()));
		}
		const create = { method: 'POST', path: path('apps', this.app, 'users', this.owner ?? '', 'sessions'), body: '{"sessionId":"s1","state":{"topic":"billing"}}' };
		return h('div.empty', h('p', 'There are no sessions here yet.', this.owner && ' The first one:'), this.owner && h('pre.example', curl(create)));
	}
}
