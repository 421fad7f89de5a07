// What was said in all sessions of a user: the best hits for some words, with these marked.

import { mayOperate, who } from './access.js';
import { curl, get, path, withQuery } from './api.js';
import { copyButton, fill, h, wordInput } from './dom.js';
import { author, describe } from './event.js';
import { complain, problemText } from './request.js';
import { appAddress, sessionAddress } from './router.js';
import { time } from './times.js';

const [FEW, MOST] = [20, 100];
const WORDS = 32;
const AROUND = 80; // characters on either side of a word
const CUTS = 4;

// Scripts that put no spaces between words: of these, every two neighbours are a word.
const UNSPACED = '[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]';
const ONE = new RegExp(`[[\\p{L}\\p{Nd}]&&${UNSPACED}]\\p{M}*`, 'gv');
const RUN = new RegExp(`(?<unspaced>(?:${ONE.source})+)|(?:[[\\p{L}\\p{Nd}]--${UNSPACED}]\\p{M}*)+`, 'gv');

/** As the server compares words: without marks, in whatever case. */
const fold = (text) => Array.from(text.normalize('NFD').replace(/\p{M}/gu, ''), (one) => (one === 'ı' ? one : one.toLowerCase().toUpperCase().toLowerCase())).join('');

/** { word, from, to } for each word of a text, where it is there. */
function* wordsOf(text) {
	for (const { 0: run, index, groups } of text.matchAll(RUN)) {
		if (groups.unspaced === undefined) {
			yield { word: fold(run), from: index, to: index + run.length };
			continue;
		}
		const all = [...run.matchAll(ONE)];
		for (let first = 0; first < Math.max(1, all.length - 1); first += 1) {
			const pair = all.slice(first, first + 2);
			const last = pair.at(-1);
			yield { word: fold(pair.map(([one]) => one).join('')), from: index + pair[0].index, to: index + last.index + last[0].length };
		}
	}
}

/** A text around the first of each of the words, all of which are marked there. */
function excerpt(text, words) {
	const left = new Set(words);
	const cuts = [];
	const marks = [];
	for (const { word, from, to } of wordsOf(text)) {
		const cut = cuts.at(-1);
		if (left.size === 0 && from > cut?.to) break;
		if (!words.has(word)) continue;
		const isFirst = left.delete(word);
		if (isFirst && from - AROUND <= cut?.to) cut.to = to + AROUND;
		else if (isFirst && cuts.length < CUTS) cuts.push({ from: Math.max(0, from - AROUND), to: to + AROUND });
		const mark = marks.at(-1);
		if (mark && from <= mark.to) mark.to = to;
		else marks.push({ from, to });
	}
	if (cuts.length === 0) cuts.push({ from: 0, to: 2 * AROUND });
	const piece = (from, to) => text.slice(from, to).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
	return cuts.map(({ from, to }, index) => {
		const inside = marks.filter((mark) => mark.from < to && mark.to > from);
		const starts = [from, ...inside.map((mark) => mark.to)];
		return [index + from > 0 && '… ', starts.map((start, at) => [piece(start, inside[at]?.from ?? Math.max(start, to)), inside[at] && h('mark', text.slice(inside[at].from, inside[at].to))]),
			to < text.length && index === cuts.length - 1 && ' …'];
	});
}

export class UserSearch {
	words = '';
	#turn = new AbortController();

	/** `note()` hears that others are asked for. */
	constructor({ app, user, signal, note }) {
		Object.assign(this, { app, user, signal, note });
		this.input = wordInput({
			type: 'search', placeholder: 'Search what was said', 'aria-label': 'Search what was said', 'data-filter': true,
			input: () => { if (this.input.value === '') this.#ask(); },
		});
		this.count = h('output.count');
		this.hits = h('ol.hits', { 'aria-label': 'Hits' });
		this.notice = h('div');
		const submit = (event) => { event.preventDefault(); this.#ask(); };
		const form = h('form.filters', { role: 'search', 'aria-label': 'Search', submit }, this.input, h('button', { type: 'submit' }, 'Search'), this.count);
		this.element = h('section.found', { 'aria-label': 'Search' }, form, this.hits, this.notice);
	}

	/** Takes what is typed. */
	#ask() {
		this.look(this.input.value.trim()).catch(complain);
		this.note();
	}

	/** Takes what an address says. */
	async update({ search = '' }) {
		if (search === this.words) return;
		this.input.value = search;
		await this.look(search);
	}

	/** Asks for the best hits, or with no words leaves them. What fails is said in their place. */
	async look(words, limit = FEW) {
		this.#turn.abort();
		this.#turn = new AbortController();
		const signal = AbortSignal.any([this.signal, this.#turn.signal]);
		this.words = words;
		if (words === '') return this.#show([]);
		const address = withQuery(path('apps', this.app, 'users', this.user, 'search'), { text: words, limit });
		this.count.textContent = 'Looking…';
		try {
			const { json } = await get(address, signal);
			this.#draw(json, limit, address);
		} catch (error) {
			if (error.name === 'AbortError') return undefined;
			if (error.status === undefined || error.status === 401) throw error;
			this.#show([], '', error.code === 'search_off' ? this.#off(error) : h('div.failure', problemText(error)));
		}
		return undefined;
	}

	#show(hits, count = '', ...notice) {
		fill(this.hits, hits);
		fill(this.count, count);
		fill(this.notice, notice);
	}

	#draw(json, limit, address) {
		const words = new Set();
		for (const { word } of wordsOf(this.words)) if (words.size < WORDS) words.add(word);
		const hits = json.get('hits').items.map((hit) => this.#hit(hit, words));
		const isFull = hits.length === limit;
		const more = () => this.look(this.words, MOST).catch(complain).then(() => this.hits.children[FEW]?.querySelector('.open').focus());
		this.#show(hits, `${isFull ? 'The best ' : ''}${hits.length}${isFull ? '' : ' found'}`,
			json.get('complete').text === 'false' && h('p.hint', 'There may be more: older events are still taken in, or too many have these words.'),
			hits.length === 0 && h('p.empty', 'No event has one of these words whole.'),
			h('div.bar', isFull && limit < MOST && h('button.open', { click: more }, 'More'), copyButton('Copy as curl', curl({ path: address }))));
	}

	#hit(json, words) {
		const id = json.string('sessionId');
		const event = describe(json.get('event'));
		const said = event.parts.filter((part) => part.kind === 'text').map((part) => part.text).join('\n');
		return h('li', h('a.open', { href: sessionAddress(this.app, this.user, id, { at: event.sequence }) },
			h('span.cell', author(event), h('bdi.name', json.string('displayName') || id), time(event.time)), h('span.text', excerpt(said, words))));
	}

	#off(problem) {
		const mayChange = mayOperate(this.app, 'policies') && who.users.includes('*');
		return h('div.empty', h('p', 'There is no search in this app yet: ', problem.message, '.'),
			mayChange && h('p', h('a', { href: appAddress(this.app) }, 'To the policy of the app')));
	}
}
