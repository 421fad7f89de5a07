// A window of a session's events, loaded by page from either side.

import { get, withQuery } from './api.js';
import { describe } from './event.js';
import { turnsOf } from './turns.js';

const PAGE = 100;
const MOST = 500; // rows that are kept at once

export class History {
	events = [];
	revision = 0;
	base = 0; // events up to here were trimmed
	kept = new Set(); // sequences that no rewind has taken back, of those that were asked for
	left = new Set(); // those of which the model reads
	asked = new Set();
	asModel = false; // only what the model reads is wanted
	#calls = new Map(); // names of calls by their ids
	#opening;

	constructor(path, signal) {
		this.path = path;
		this.signal = signal;
	}

	get first() { return this.events[0]?.sequence ?? this.revision + 1; }
	get last() { return this.events.at(-1)?.sequence ?? this.revision; }
	get hasOlder() { return this.first > this.base + 1; }
	get hasNewer() { return this.last < this.revision; }

	get turns() { return turnsOf(this.events); }
	/** Which events are loaded, if not all are. */
	get some() { return this.hasOlder || this.hasNewer ? `the events ${this.first} to ${this.last} of ${this.revision}` : undefined; }

	has(sequence) { return sequence >= this.first && sequence <= this.last && this.events.length > 0; }
	find(sequence) { return this.events[sequence - this.first]; }
	isWanted(event) { return !this.asModel || !this.asked.has(event.sequence) || this.left.has(event.sequence); }
	/** Of a rewind: whether a later one took it back. */
	isRewound({ sequence, rewinds }) {
		if (rewinds !== undefined) return this.events.some((later) => later.sequence > sequence && later.rewindsTo < sequence);
		return this.asked.has(sequence) && !this.kept.has(sequence);
	}

	async #page(query) {
		const { json } = await get(withQuery(`${this.path}/events`, { pageSize: PAGE, ...query }), this.signal);
		this.revision = Math.max(this.revision, json.number('revision'));
		this.base = json.number('trimmedThrough') ?? this.base;
		return json.get('events').items.map((event) => this.describe(event));
	}

	describe(json) { return describe(json, this.#calls); }

	openAtEnd() {
		return this.#open({ order: 'desc' });
	}

	openAround(sequence) {
		return this.#open({ afterSequence: Math.max(this.base, sequence - PAGE / 2) });
	}

	/** Of several windows, the last one counts. */
	async #open(query) {
		const opening = this.#opening = Symbol();
		const page = await this.#page(query);
		if (opening === this.#opening) this.events = query.order ? page.reverse() : page;
	}

	async older() {
		if (!this.hasOlder) return;
		const page = (await this.#page({ order: 'desc', beforeSequence: this.first })).reverse();
		// Meanwhile another window may have been opened.
		if (page.at(-1)?.sequence === this.first - 1) this.events = [...page, ...this.events].slice(0, MOST);
	}

	async newer() {
		if (!this.hasNewer) return;
		const page = await this.#page({ afterSequence: this.last });
		if (page[0]?.sequence === this.last + 1) this.events = [...this.events, ...page].slice(-MOST);
	}

	/** The events up to here are gone. */
	trimmed(base) {
		this.base = base;
		this.events = this.events.filter((event) => event.sequence > base);
	}

	/** Takes an event of the stream. */
	add(event) {
		const isNext = !this.hasNewer && event.sequence === this.last + 1;
		this.revision = Math.max(this.revision, event.sequence);
		if (isNext) this.events = [...this.events, event].slice(-MOST);
	}

	/** An event that is another one now. */
	replace(event) {
		const index = event.sequence - this.first;
		if (this.events[index]) this.events[index] = event;
	}

	/** Asks the server which events of the window a rewind took back, and which the model reads. */
	async askRewound() {
		if (this.events.length === 0) return;
		const [first, last] = [this.first, this.last];
		const [kept, left] = await Promise.all([{ excludeRewound: true }, this.asModel && { history: 'effective' }]
			.map((query) => (query ? this.#sequences(query, first, last) : [])));
		this.kept = new Set(kept);
		this.left = new Set(left);
		this.asked = new Set(this.events.filter((event) => event.sequence >= first && event.sequence <= last)
			.map((event) => event.sequence));
	}

	async #sequences(which, first, last) {
		const found = [];
		for (let after = first - 1; ;) {
			const query = { ...which, afterSequence: after, beforeSequence: last + 1, pageSize: 1000 };
			const { json } = await get(withQuery(`${this.path}/events`, query), this.signal);
			const page = json.get('events').items.map((event) => event.number('sequence'));
			found.push(...page);
			if (page.length === 0 || json.get('nextPageToken') === undefined) return found;
			after = page.at(-1);
		}
	}
}
