// States of all three scopes at revisions, and what differs between two: by a sign and in words, not by colour alone.

import { get, withQuery } from './api.js';
import { copyButton, fill, h } from './dom.js';
import { glance } from './frameworks.js';
import { inline, tree } from './jsonview.js';
import { pastOf } from './past.js';

const MOST = 50;

export class States {
	#remembered = new Map(); // revision -> promise; the order is that of use

	constructor(path, signal) {
		this.path = path;
		this.signal = signal;
	}

	address(revision) {
		return withQuery(`${this.path}/state`, { atRevision: revision });
	}

	forget() {
		this.#remembered.clear();
	}

	/** The state as the event of that number left it, which a redaction alone changes; without a number, that of now. */
	at(revision) {
		const read = () => get(this.address(revision), this.signal).then(({ json }) => json);
		if (revision === undefined) return read();
		const promise = this.#remembered.get(revision) ?? read().catch((error) => {
			this.#remembered.delete(revision);
			throw error;
		});
		this.#remembered.delete(revision);
		this.#remembered.set(revision, promise);
		if (this.#remembered.size > MOST) this.#remembered.delete(this.#remembered.keys().next().value);
		return promise;
	}

	/** Reads ahead; whoever needs it hears of a failure. */
	prefetch(revision) {
		this.at(revision).catch(() => {});
	}
}

const SCOPES = [
	{ name: 'session', title: 'Session' },
	{ name: 'user', title: 'User' },
	{ name: 'app', title: 'App' },
];

function scopeOf(key) {
	return key.startsWith('app:') ? 'app' : key.startsWith('user:') ? 'user' : 'session';
}

/** Before what changed. */
export const SIGNS = { added: '+', changed: '~', removed: '−' };

/** Keys of both states in order: { key, scope, change: ''|'added'|'changed'|'removed', old?, value? }. */
export function compare(before, after) {
	const old = new Map(before.members.map(({ key, value }) => [key.string(), value]));
	const rows = after.members.map(({ key, value }) => {
		const name = key.string();
		const was = old.get(name);
		old.delete(name);
		const change = was === undefined ? 'added' : was.text === value.text ? '' : 'changed';
		return { key: name, scope: scopeOf(name), change, old: was, value };
	});
	const removed = [...old].map(([key, was]) => ({ key, scope: scopeOf(key), change: 'removed', old: was }));
	return [...rows, ...removed];
}

/** A list of rows that differ; nothing if there are none. */
export const changes = (rows) => rows.length > 0 && h('ul.keys', rows.map((row) => h(`li.${row.change}`, h('span.sign', { 'aria-hidden': 'true' }, SIGNS[row.change]), h('bdi.name', row.key), ' ',
	row.old && h('del', inline(row.old, 80)), row.old && row.value && ' → ', row.value && h('ins', inline(row.value, 80)))));

export class StateView {
	#opened = new Set();

	/** Of the page of a session. */
	constructor(page) {
		this.page = page;
		this.choice = h('select', { 'aria-label': 'Mark changes since', change: () => { page.against = this.choice.value; page.draw(); } },
			h('option', { value: 'previous' }, 'since the previous event'),
			h('option', { value: 'start' }, 'since the start'),
			h('option', { value: 'now' }, 'until now'));
		this.only = h('input', { type: 'checkbox', change: () => this.#show() });
		this.body = h('div');
		this.title = h('h2', 'State');
		this.element = h('section.pane.right', { 'aria-label': 'State' },
			h('header', this.title, h('label.check', this.only, 'changes'), this.choice),
			h('div.scroller', { tabindex: 0, role: 'region', 'aria-label': 'State' }, this.body, page.files.element));
	}

	draw({ rows, title, text }) {
		this.title.textContent = title;
		this.choice.value = this.page.against;
		// The same is left as it is, with what is open and selected.
		const content = JSON.stringify([text, rows.map((row) => [row.change, row.old?.text]), this.#opened.size && this.page.at]);
		if (content === this.content) return;
		this.content = content;
		this.shown = { rows, text };
		this.#show();
	}

	fail(problem) {
		this.content = undefined;
		fill(this.body, h('p.failure', problem.message));
	}

	#show() {
		if (!this.shown) return;
		const { rows, text } = this.shown;
		const sections = SCOPES.map((scope) => {
			const own = rows.filter((row) => row.scope === scope.name);
			const there = own.filter((row) => row.change !== 'removed').length;
			const changes = own.filter((row) => row.change).length;
			const visible = this.only.checked ? own.filter((row) => row.change) : own;
			return h('section.scope',
				h('h3', scope.title, h('span.count', there), changes > 0 && h('span.changes', `${changes} changed`)),
				visible.length ? h('ul.keys', visible.map((row) => this.#row(row))) : h('p.empty', this.only.checked ? 'No changes.' : 'Empty.'));
		});
		const focused = document.activeElement?.dataset.key;
		fill(this.body, sections, h('div.bar', copyButton('Copy state as stored', text),
			h('button.quiet', { title: 'With another place (c)', 'aria-keyshortcuts': 'c', click: () => this.page.compare() }, 'Compare…')));
		if (focused !== undefined) this.body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
	}

	#row(row) {
		const isOpen = this.#opened.has(row.key);
		const toggle = () => {
			if (isOpen) this.#opened.delete(row.key);
			else this.#opened.add(row.key);
			this.#show();
		};
		const value = row.value ?? row.old;
		const brief = (one, room) => inline(glance(row.key, one), room);
		const line = row.change === 'changed'
			? [h('del', brief(row.old, 80)), h('span.to', { 'aria-label': 'became' }, '→'), h('ins', brief(row.value))]
			: row.change === 'removed' ? h('del', brief(value)) : brief(value);
		return h(`li${row.change ? `.${row.change}` : ''}`,
			h('button.key', {
				'aria-expanded': String(isOpen), 'data-key': row.key, click: toggle,
				'aria-description': row.change || undefined,
			}, h('span.sign', { 'aria-hidden': 'true' }, SIGNS[row.change] ?? ''), h('bdi.name', row.key), h('span.value', line)),
			isOpen && h('div.opened',
				pastOf(this.page, row.key),
				row.change === 'changed' && [h('h4', 'Before'), tree(row.old), h('h4', 'After')],
				tree(value),
				h('div.bar', copyButton('Copy value', value.text),
					this.page.mayWrite && h('button.quiet', { click: () => this.page.edit(row.key) }, 'Edit…'))));
	}
}
