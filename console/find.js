// Words in the whole session, which the server finds: hits from the newest on, as far as it was asked.

import { get, withQuery } from './api.js';
import { fill, h, wordInput } from './dom.js';
import { complain } from './request.js';

export class Finder {
	hits = []; // sequences, newest first
	#turn = new AbortController();

	/** Of the page of a session. */
	constructor(page) {
		this.page = page;
		const keydown = (event) => { if (event.key === 'Enter') this.step(event.shiftKey ? -1 : 1); };
		this.input = wordInput({ type: 'search', placeholder: 'Find in the session', 'aria-label': 'Find in the whole session', maxlength: 256, input: () => this.forget(), keydown });
		const button = (text, title, way) => h('button.quiet', { title, 'aria-label': title, click: () => this.step(way) }, text);
		this.count = h('output.count');
		this.element = h('div.find', { role: 'search' }, this.input, this.count, button('↑', 'Older hit (Enter)', 1), button('↓', 'Newer hit (Shift Enter)', -1));
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
			const older = () => this.hits.find((hit) => hit < at || (isNew && hit === at));
			while (way > 0 && older() === undefined && this.next !== undefined) await this.#more();
			const hit = (way > 0 ? older() : this.hits.findLast((one) => one > at)) ?? (this.next === undefined ? this.hits.at(way > 0 ? 0 : -1) : undefined);
			if (hit !== undefined) this.page.goTo(hit);
		} catch (error) {
			this.words = undefined;
			this.page.draw();
			complain(error);
		}
	}

	/** Asks for the newest hits of what is typed: whether it was not asked for yet. */
	async look() {
		const words = this.input.value.trim();
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

	draw() {
		const { hits, words, next } = this;
		const index = hits.indexOf(this.page.at) + 1;
		const all = `${hits.length}${next === undefined ? '' : '+'}`;
		fill(this.count, words !== undefined && (this.isLooking ? 'Looking…' : index ? `${index} of ${all}` : `${all} found`));
	}
}
