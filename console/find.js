// One field for the whole session: the server finds what was said, from the newest event on, as far as it was asked; of the events
// that are loaded, authors, keys, ids and files count, too.

import { get, withQuery } from './api.js';
import { fill, h, wordInput } from './dom.js';
import { says } from './event.js';
import { complain } from './request.js';

export class Finder {
	hits = []; // sequences that the server found, newest first
	#turn = new AbortController();

	/** Of the page of a session. */
	constructor(page) {
		this.page = page;
		const keydown = (event) => { if (event.key === 'Enter') this.step(event.shiftKey ? -1 : 1); };
		this.input = wordInput({ type: 'search', placeholder: 'Find in the session: Enter', 'aria-label': 'Find in the whole session', maxlength: 256, input: () => this.forget(), keydown });
		const button = (text, title, way) => h('button.quiet', { title, 'aria-label': title, click: () => this.step(way) }, text);
		this.only = h('input', { type: 'checkbox', change: () => page.draw() });
		this.count = h('output.count');
		this.element = h('div.find', { role: 'search' }, this.input, h('label.check', { title: 'Hide the other events' }, this.only, 'only'), this.count, button('↑', 'Older hit (Enter)', 1), button('↓', 'Newer hit (Shift Enter)', -1));
	}

	get text() { return this.input.value.trim(); }

	/** Sequences of all that is known to have the text, newest first. */
	get found() {
		const { text, hits, page: { history } } = this;
		const here = text ? history.events.filter((event) => history.isWanted(event) && says(event, text)).map((event) => event.sequence) : [];
		return [...new Set([...hits, ...here])].sort((one, other) => other - one);
	}

	forget() {
		this.#turn.abort();
		Object.assign(this, { words: undefined, hits: [], next: undefined, isLooking: false });
		this.page.draw();
	}

	/** To the next hit that is older, or with -1 newer, round the ends; the first time also to one that is here. */
	async step(way) {
		try {
			const isNew = await this.look();
			const { at } = this.page;
			const asked = () => (this.next === undefined ? 0 : this.hits.at(-1)); // from there on
			const older = () => this.found.find((hit) => hit >= asked() && (hit < at || (isNew && hit === at)));
			while (way > 0 && older() === undefined && this.next !== undefined) await this.#more();
			const hit = (way > 0 ? older() : this.found.findLast((one) => one > at)) ?? (this.next === undefined ? this.found.at(way > 0 ? 0 : -1) : undefined);
			if (hit !== undefined) this.page.goTo(hit);
		} catch (error) {
			this.words = undefined;
			this.page.draw();
			complain(error);
		}
	}

	/** Asks for the newest hits of what is typed: whether it was not asked for yet. */
	async look() {
		const words = this.text;
		if (words === (this.words ?? '')) return false;
		this.forget();
		this.#turn = new AbortController();
		this.words = words;
		await this.#more();
		return true;
	}

	/** Reads on, until there is a hit or nothing left. */
	async #more() {
		const { path, signal, history: { asModel } } = this.page;
		const turn = AbortSignal.any([signal, this.#turn.signal]);
		this.isLooking = true;
		this.page.draw();
		for (const before = this.hits.length; this.hits.length === before;) {
			const query = { text: this.words, order: 'desc', history: asModel ? 'effective' : '', pageToken: this.next };
			const { json } = await get(withQuery(`${path}/events`, query), turn);
			this.hits.push(...json.get('events').items.map((event) => event.number('sequence')));
			this.next = json.string('nextPageToken');
			if (this.next === undefined) break;
		}
		this.isLooking = false;
		this.page.draw();
	}

	draw(found) {
		const { words, next } = this;
		const index = found.indexOf(this.page.at) + 1;
		const all = `${found.length}${next === undefined ? '' : '+'}`;
		fill(this.count, words !== undefined && (this.isLooking ? 'Looking…' : index ? `${index} of ${all}` : `${all} found`));
	}
}
