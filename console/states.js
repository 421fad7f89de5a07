// States of all three scopes at revisions, and what differs between two: by a sign and in words, not by colour alone.

import { get, withQuery } from './api.js';
import { copyButton, fill, h } from './dom.js';
import { inline, tree } from './jsonview.js';

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

export class StateView {
	#opened = new Set();

	/** `against` hears 'previous', 'start' or 'now'; `edit` a key, if there is one. `files` are below the state. */
	constructor(against, edit, files) {
		this.edit = edit;
		this.choice = h('select', { 'aria-label': 'Mark changes since', change: () => against(this.choice.value) },
			h('option', { value: 'previous' }, 'since the previous event'),
			h('option', { value: 'start' }, 'since the start'),
			h('option', { value: 'now' }, 'until now'));
		this.only = h('input', { type: 'checkbox', change: () => this.#show() });
		this.body = h('div');
		this.title = h('h2', 'State');
		this.element = h('section.pane.right', { 'aria-label': 'State' },
			h('header', this.title, h('label.check', this.only, 'changes'), this.choice),
			h('div.scroller', { tabindex: 0, role: 'region', 'aria-label': 'State' }, this.body, files));
	}

	draw({ rows, title, against, mayEdit, text }) {
		this.title.textContent = title;
		this.choice.value = against;
		// The same is left as it is, with what is open and selected.
		const content = JSON.stringify([text, rows.map((row) => [row.change, row.old?.text])]);
		if (content === this.content) return;
		this.content = content;
		this.shown = { rows, mayEdit, text };
		this.#show();
	}

	fail(problem) {
		this.content = undefined;
		fill(this.body, h('p.failure', problem.message));
	}

	#show() {
		if (!this.shown) return;
		const { rows, mayEdit, text } = this.shown;
		const sections = SCOPES.map((scope) => {
			const own = rows.filter((row) => row.scope === scope.name);
			const there = own.filter((row) => row.change !== 'removed').length;
			const changes = own.filter((row) => row.change).length;
			const visible = this.only.checked ? own.filter((row) => row.change) : own;
			return h('section.scope',
				h('h3', scope.title, h('span.count', there), changes > 0 && h('span.changes', `${changes} changed`)),
				visible.length ? h('ul.keys', visible.map((row) => this.#row(row, mayEdit))) : h('p.empty', this.only.checked ? 'No changes.' : 'Empty.'));
		});
		const focused = document.activeElement?.dataset.key;
		fill(this.body, sections, h('div.bar', copyButton('Copy state as stored', text)));
		if (focused !== undefined) this.body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
	}

	#row(row, mayEdit) {
		const isOpen = this.#opened.has(row.key);
		const toggle = () => {
			if (isOpen) this.#opened.delete(row.key);
			else this.#opened.add(row.key);
			this.#show();
		};
		const value = row.value ?? row.old;
		const line = row.change === 'changed'
			? [h('del', inline(row.old, 80)), h('span.to', { 'aria-label': 'became' }, '→'), h('ins', inline(row.value, 200))]
			: row.change === 'removed' ? h('del', inline(value)) : inline(value);
		return h(`li${row.change ? `.${row.change}` : ''}`,
			h('button.key', {
				'aria-expanded': String(isOpen), 'data-key': row.key, click: toggle,
				'aria-description': row.change || undefined,
			}, h('span.sign', { 'aria-hidden': 'true' }, SIGNS[row.change] ?? ''), h('bdi.name', row.key), h('span.value', line)),
			isOpen && h('div.opened',
				row.change === 'changed' && [h('h4', 'Before'), tree(row.old), h('h4', 'After')],
				tree(value),
				h('div.bar', copyButton('Copy value', value.text),
					mayEdit && h('button.quiet', { click: () => this.edit(row.key) }, 'Edit…'))));
	}
}
