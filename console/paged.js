// A table that is read page by page.

import { get, Problem, withQuery } from './api.js';
import { fill, h } from './dom.js';
import { complain, problemText } from './request.js';

export class PagedTable {
	#turn = new AbortController();

	/**
	 * `columns` are { title, look }; `address()` is that of the first page, and `items` the name of the list in its answer.
	 * `row(json)` gives a `tr`; what opens it has the class `open`. `empty()` is shown instead of no rows.
	 */
	constructor({ label, columns, address, items, row, empty, signal }) {
		Object.assign(this, { address, items, row, empty, signal });
		this.body = h('tbody');
		const head = h('tr', columns.map(({ title, look }) => h(`th${look ? `.${look}` : ''}`, { scope: 'col' }, title)));
		this.table = h('table', { 'aria-label': label }, h('thead', head), this.body);
		this.button = h('button.open', { click: () => this.more().catch(complain) }, 'More');
		this.notice = h('div');
		this.element = h('div.paged', this.table, this.button, this.notice);
	}

	/** From the first page on. What fails is said in place of the rows. */
	async load() {
		this.#turn.abort();
		this.#turn = new AbortController();
		const waiting = setTimeout(() => this.element.setAttribute('aria-busy', 'true'), 300);
		try {
			const rows = await this.#read();
			fill(this.body, rows);
			fill(this.notice, rows.length === 0 && this.empty());
			this.table.hidden = rows.length === 0;
		} catch (error) {
			if (error.name === 'AbortError') return;
			if (!(error instanceof Problem) || error.status === 401) throw error;
			this.table.hidden = this.button.hidden = true;
			fill(this.notice, h('div.failure', problemText(error)));
		} finally {
			clearTimeout(waiting);
			this.element.removeAttribute('aria-busy');
		}
	}

	async more() {
		const last = this.body.lastElementChild;
		this.body.append(...await this.#read(this.next));
		last?.nextElementSibling?.querySelector('.open')?.focus();
	}

	async #read(pageToken) {
		const signal = AbortSignal.any([this.signal, this.#turn.signal]);
		const { json } = await get(withQuery(this.address(), { pageToken }), signal);
		this.next = json.string('nextPageToken');
		this.button.hidden = this.next === undefined;
		return json.get(this.items).items.map((item) => this.row(item));
	}

	keys() {
		return { j: () => this.#step(1), k: () => this.#step(-1) };
	}

	#step(distance) {
		const places = [...this.element.querySelectorAll('.open:not([hidden])')];
		const line = document.activeElement?.closest('tr');
		const at = places.findIndex((place) => place === document.activeElement || (line && place.closest('tr') === line));
		const next = at < 0 ? 0 : Math.min(Math.max(at + distance, 0), places.length - 1);
		places[next]?.focus();
	}
}
