// A table that is read page by page.

import { get, Problem, withQuery } from './api.js';
import { fill, h } from './dom.js';
import { complain, problemText } from './request.js';

export class PagedTable {
	#turn = new AbortController();

	/**
	 * `columns` are { title, look, by }; `address()` is that of the first page, and `items` the name of the list in its answer.
	 * `row(json)` gives a `tr`; what opens it has the class `open`. `empty()` is shown instead of no rows. A column with `by` sorts:
	 * `sort.by()` gives the one that does, and the order, `asc` or `desc`; `sort.choose(by)` hears of another.
	 */
	constructor({ label, columns, address, items, row, empty, signal, sort }) {
		Object.assign(this, { address, items, row, empty, signal, sort });
		this.body = h('tbody');
		const head = ({ title, look, by }) => h(`th${look ? `.${look}` : ''}`, { scope: 'col', 'data-by': by },
			by ? h('button.quiet', { click: () => sort.choose(by) }, title) : title);
		this.head = h('tr', columns.map(head));
		this.table = h('table', { 'aria-label': label }, h('thead', this.head), this.body);
		this.button = h('button.open', { click: () => this.more().catch(complain) }, 'More');
		this.notice = h('div');
		this.element = h('div.paged', this.table, this.button, this.notice);
	}

	/** From the first page on. What fails is said in place of the rows. */
	async load() {
		this.#turn.abort();
		this.#turn = new AbortController();
		const waiting = setTimeout(() => this.element.setAttribute('aria-busy', 'true'), 300);
		this.#drawSort();
		try {
			const rows = await this.#read();
			fill(this.body, rows);
			this.#show();
		} catch (error) {
			this.signal.throwIfAborted(); // its page is gone, and must not be drawn over the next one
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
		this.#show();
		(last ? last.nextElementSibling : this.body.firstElementChild)?.querySelector('.open')?.focus();
	}

	#show() {
		this.table.hidden = this.body.childElementCount === 0;
		const isLeft = this.next !== undefined;
		fill(this.notice, this.table.hidden && (isLeft ? h('p.empty', 'Nothing yet. “More” looks further.') : this.empty()));
	}

	#drawSort() {
		if (!this.sort) return;
		const [by, order] = this.sort.by();
		for (const head of this.head.querySelectorAll('[data-by]')) {
			if (head.dataset.by === by) head.setAttribute('aria-sort', order === 'asc' ? 'ascending' : 'descending');
			else head.removeAttribute('aria-sort');
		}
	}

	/** A page. A search may answer without a row and go on: so many answers are asked for at most. */
	async #read(pageToken, most = 10) {
		const signal = AbortSignal.any([this.signal, this.#turn.signal]);
		const { json } = await get(withQuery(this.address(), { pageToken }), signal);
		const { items } = json.get(this.items);
		const next = json.string('nextPageToken');
		if (items.length === 0 && next !== undefined && most > 1) return this.#read(next, most - 1);
		this.next = next;
		this.button.hidden = next === undefined;
		return items.map((item) => this.row(item));
	}

	keys() {
		return rowKeys(this.element);
	}
}

/** Keys that go through what opens, row by row. */
export function rowKeys(element) {
	const step = (distance) => {
		const places = [...element.querySelectorAll('.open:not([hidden])')];
		const line = document.activeElement?.closest('tr');
		const at = places.findIndex((place) => place === document.activeElement || (line && place.closest('tr') === line));
		const next = at < 0 ? 0 : Math.min(Math.max(at + distance, 0), places.length - 1);
		places[next]?.focus();
	};
	return { j: () => step(1), k: () => step(-1) };
}
