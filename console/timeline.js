// The timeline: one line an event, in groups by invocation. Rows are kept between drawings.

import { h, wordInput } from './dom.js';
import { hueOf, says } from './event.js';
import { exact, span } from './times.js';

export class Timeline {
	forks = []; // { revision, link } of the sessions that begin there
	#rows = new Map(); // event -> element
	#folded = new Set(); // first sequence of a group

	/** `choose(sequence)` hears of a row that was pressed, `page('older'|'newer')` of the window's end, `typed()` of a filter, `asked()` of the switch. */
	constructor(history, choose, page, typed, asked) {
		this.history = history;
		this.choose = choose;
		this.filter = wordInput({ type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the loaded events', 'data-filter': true, input: typed });
		const asModel = h('input', { type: 'checkbox', change: () => { history.asModel = asModel.checked; asked(); } });
		const label = h('label.check', { title: 'Without events that were rewound, and without those that a compaction covers' }, asModel, 'As the model sees it');
		this.list = h('ol.timeline', { 'aria-label': 'Events' });
		this.older = h('button.quiet.page', { hidden: true, click: () => page('older') }, 'Older events');
		this.newer = h('button.quiet.page', { hidden: true, click: () => page('newer') }, 'Newer events');
		this.scroller = h('div.scroller', this.older, this.list, this.newer);
		this.element = h('section.pane.left', { 'aria-label': 'Timeline' }, h('header', h('h2', 'Timeline'), this.filter, label), this.scroller);
		this.page = page;
		this.scroller.addEventListener('scroll', () => this.#more());
	}

	/** Another page where the scroller ends. */
	#more() {
		const { scrollTop, scrollHeight, clientHeight } = this.scroller;
		const [isUp, isDown] = [scrollTop < 200, scrollHeight - scrollTop - clientHeight < 200];
		if (isUp === isDown) return;
		if (!(isUp ? this.older : this.newer).hidden) this.page(isUp ? 'older' : 'newer');
	}

	draw(selected) {
		this.selected = selected;
		const { history } = this;
		const anchor = this.#anchor();
		const content = [];
		const rows = new Map();
		if (!history.hasOlder) content.push(this.#start(selected), ...this.#forks(history.base));
		let group;
		const events = history.events.filter((event) => event.sequence === selected || this.#fits(event));
		for (const [index, event] of events.entries()) {
			if (events[index - 1]?.invocation !== event.invocation) {
				group = { first: event.sequence, size: groupSize(events, index) };
				if (event.invocation) content.push(this.#head(event, group));
			}
			if (this.#folded.has(group.first) && event.sequence !== selected) continue;
			const row = this.#rows.get(event) ?? this.#row(event, history.find(event.sequence - 1));
			rows.set(event, row);
			mark(row, event.sequence === selected, history.isRewound(event));
			content.push(row, ...this.#forks(event.sequence));
		}
		this.#rows = rows;
		this.older.hidden = !history.hasOlder;
		this.newer.hidden = !history.hasNewer;
		if (events.length === 0) content.push(h('li.empty', history.events.length ? 'No loaded event has this.' : 'No event yet.'));
		reconcile(this.list, content);
		this.#restore(anchor);
		queueMicrotask(() => this.#more()); // once its caller has scrolled
	}

	#fits(event) {
		return this.history.isWanted(event) && (!this.filter.value || says(event, this.filter.value));
	}

	/** The place so many rows on; the same where no row is left. */
	next(from, step) {
		let place = from + step;
		while (this.history.find(place) && !this.#fits(this.history.find(place))) place += step;
		return (this.filter.value || this.history.asModel) && !this.history.find(place) ? from : place;
	}

	reveal() {
		this.list.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
	}

	focus() {
		this.list.querySelector('[aria-current=true]')?.focus();
	}

	toEnd() {
		this.scroller.scrollTop = this.scroller.scrollHeight;
	}

	get isAtEnd() {
		return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 40;
	}

	/** A row that stays where it is while rows come in above it. */
	#anchor() {
		const top = this.scroller.getBoundingClientRect().top;
		const row = [...this.#rows.values()].find((child) => child.getBoundingClientRect().bottom > top);
		return row && { row, offset: row.getBoundingClientRect().top };
	}

	#restore(anchor) {
		if (!anchor?.row.isConnected) return;
		this.scroller.scrollTop += anchor.row.getBoundingClientRect().top - anchor.offset;
	}

	#start(selected) {
		const { base } = this.history;
		const text = base ? `Events 1–${base} were trimmed` : 'Created';
		const button = h('button.row.start', { click: () => this.choose(base) },
			h('span.sequence', base), h('span.line', text));
		const row = h('li', button);
		mark(row, selected === base, false);
		return row;
	}

	#forks(revision) {
		return this.forks.filter((fork) => fork.revision === revision).map(({ link }) => h('li.fork', '↳ fork ', link));
	}

	#head(event, group) {
		const isFolded = this.#folded.has(group.first);
		const toggle = () => {
			if (isFolded) this.#folded.delete(group.first);
			else this.#folded.add(group.first);
			this.draw(this.selected);
		};
		return h('li', h('button.group', { 'aria-expanded': String(!isFolded), click: toggle, tabindex: -1 },
			h('span.arrow', { 'aria-hidden': 'true' }, isFolded ? '▸' : '▾'), h('bdi.name', event.invocation),
			h('span.count', group.size)));
	}

	#row(event, previous) {
		const button = h('button.row', { title: exact(event.time), click: () => this.choose(event.sequence) },
			h('span.sequence', event.sequence),
			h(`bdi.author.hue${hueOf(event.author)}`, event.author || '–'),
			h(`bdi.line.${event.line.kind}`, event.line.text),
			event.changed.length > 0 && h('span.keys', { title: event.changed.join('\n') }, `±${event.changed.length}`),
			h('span.gap', previous ? span(event.time - previous.time) : ''));
		return h('li', button);
	}
}

/** Gives a list its items; those that are there are not touched. */
function reconcile(list, items) {
	const wanted = new Set(items);
	for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
	let next = list.firstChild;
	for (const item of items) {
		if (item === next) next = next.nextSibling;
		else list.insertBefore(item, next);
	}
}

function mark(row, isSelected, isRewound) {
	const button = row.firstChild;
	button.setAttribute('aria-current', isSelected);
	button.tabIndex = isSelected ? 0 : -1;
	row.classList.toggle('rewound', isRewound);
	if (isRewound) button.setAttribute('aria-description', 'rewound');
	else button.removeAttribute('aria-description');
}

function groupSize(events, from) {
	let end = from;
	while (end < events.length && events[end].invocation === events[from].invocation) end += 1;
	return end - from;
}
