// The timeline: one line an event, in groups by invocation. Rows are kept between drawings.

import { fill, h } from './dom.js';
import { eventLine } from './event.js';
import { complain } from './request.js';
import { exact, span } from './times.js';
import { costText } from './turns.js';

export class Timeline {
	forks = []; // { revision, link } of the sessions that begin there
	hits = new Set(); // sequences of events that are marked
	#rows = new Map(); // event -> element
	#heads = new Map(); // first sequence of a turn -> elements
	#turned = new Set(); // first sequence of a turn that is folded, or open, as it is not by itself

	/** Of the page of a session. */
	constructor(page) {
		const { history } = page;
		Object.assign(this, { page, history });
		const asModel = h('input', { type: 'checkbox', change: () => { history.asModel = asModel.checked; page.finder.forget(); page.askRewound(); } });
		const label = h('label.check', { title: 'Without events that were rewound, and without those that a compaction covers' }, asModel, 'As the model sees it');
		this.list = h('ol.timeline', { 'aria-label': 'Events' });
		this.older = h('button.quiet.page', { hidden: true, click: () => page.more('older') }, 'Older events');
		this.newer = h('button.quiet.page', { hidden: true, click: () => page.more('newer') }, 'Newer events');
		this.scroller = h('div.scroller', this.older, this.list, this.newer);
		this.element = h('section.pane.left', { 'aria-label': 'Timeline' }, h('header', h('h2', 'Timeline'), label), page.finder.element, this.scroller);
		this.scroller.addEventListener('scroll', () => this.#more());
	}

	/** Another page where the scroller ends. */
	#more() {
		const { scrollTop, scrollHeight, clientHeight } = this.scroller;
		const [isUp, isDown] = [scrollTop < 200, scrollHeight - scrollTop - clientHeight < 200];
		if (isUp === isDown) return;
		if (!(isUp ? this.older : this.newer).hidden) this.page.more(isUp ? 'older' : 'newer');
	}

	draw(selected) {
		this.selected = selected;
		const { history } = this;
		const anchor = this.#anchor();
		const content = [];
		const rows = new Map();
		if (!history.hasOlder) content.push(this.#start(selected), ...this.#forks(history.base));
		const heads = new Map();
		for (const turn of history.turns) {
			const events = turn.events.filter((event) => event.sequence === selected || this.#fits(event));
			if (events.length === 0) continue;
			// What a graph keeps of its steps is folded; what was said stays.
			const hasSteps = turn.events.some((event) => event.isStep);
			const isFolded = hasSteps !== this.#turned.has(turn.first);
			if (turn.invocation) {
				const head = this.#heads.get(turn.first) ?? this.#head();
				heads.set(turn.first, head);
				this.#drawHead(head, turn, { isFolded, count: events.length, isChosen: events.some((event) => event.sequence === selected) });
				content.push(head.item);
			}
			for (const event of events) {
				if (isFolded && turn.invocation && (event.isStep || !hasSteps) && event.sequence !== selected) continue;
				const row = this.#rows.get(event) ?? this.#row(event, history.find(event.sequence - 1));
				rows.set(event, row);
				mark(row, event.sequence === selected, history.isRewound(event));
				row.classList.toggle('hit', this.hits.has(event.sequence));
				row.classList.toggle('apart', !turn.invocation && event === events[0]);
				content.push(row, ...this.#forks(event.sequence));
			}
		}
		this.#rows = rows;
		this.#heads = heads;
		this.older.hidden = !history.hasOlder;
		this.newer.hidden = !history.hasNewer;
		if (rows.size + heads.size === 0) content.push(h('li.empty', history.events.length ? 'No loaded event has this.' : 'No event yet.'));
		reconcile(this.list, content);
		this.#restore(anchor);
		queueMicrotask(() => this.#more()); // once its caller has scrolled
	}

	#fits(event) {
		return this.history.isWanted(event) && (!this.#isFound || this.hits.has(event.sequence));
	}

	/** What is found is shown alone. */
	get #isFound() {
		const { finder } = this.page;
		return finder.only.checked && finder.text !== '';
	}

	/** The place so many rows on; the same where no row is left. */
	next(from, step) {
		let place = from + step;
		while (this.history.find(place) && !this.#fits(this.history.find(place))) place += step;
		return (this.#isFound || this.history.asModel) && !this.history.find(place) ? from : place;
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
		const button = h('button.row.start', { click: () => this.page.goTo(base) },
			h('span.sequence', base), h('span.line', text));
		const row = h('li', button);
		mark(row, selected === base, false);
		return row;
	}

	#forks(revision) {
		return this.forks.filter((fork) => fork.revision === revision).map(({ link }) => h('li.fork', '↳ fork ', link));
	}

	#head() {
		const head = {};
		const toggle = () => {
			if (!this.#turned.delete(head.turn.first)) this.#turned.add(head.turn.first);
			this.draw(this.selected);
		};
		head.fold = h('button.group', { click: toggle });
		head.back = h('button.quiet.back', { click: () => this.page.takeBack(head.turn).catch(complain) });
		head.item = h('li.turn', head.fold, head.back);
		return head;
	}

	/** Buttons of the chosen turn alone are reached by Tab, as its row is. */
	#drawHead(head, turn, { isFolded, count, isChosen }) {
		const { history } = this;
		const [first] = turn.events;
		const cost = costText(turn);
		const name = (first.record && history.events.find((event) => event.record?.step && event.invocation === turn.invocation)?.record.step) ?? turn.invocation;
		head.turn = turn;
		head.fold.setAttribute('aria-expanded', String(!isFolded));
		fill(head.fold, h('span.arrow', { 'aria-hidden': 'true' }, isFolded ? '▸' : '▾'), h('bdi.name', { title: turn.invocation }, name),
			cost && h('span.count', cost), h('span.count', count));
		head.back.textContent = first.rewinds === undefined ? 'Take back…' : 'Undo…';
		head.back.hidden = !this.page.mayWrite || history.isRewound(first);
		head.back.setAttribute('aria-label', `${head.back.textContent} ${name}`);
		head.fold.tabIndex = head.back.tabIndex = isChosen ? 0 : -1;
		head.item.classList.toggle('chosen', isChosen);
	}

	#row(event, previous) {
		const button = h('button.row', { title: exact(event.time), click: () => this.page.goTo(event.sequence) },
			eventLine(event),
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
