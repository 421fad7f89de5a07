// Merged states of a session at its revisions, remembered, and what differs between two of them.

import { get, withQuery } from './api.js';

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

	/** The state as the event of that number left it, which never changes again; without a number, that of this moment. */
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

export const SCOPES = [
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
