// The slider over revisions: a native range with ticks where invocations begin; those that share a tick make it higher.

import { fill, h } from './dom.js';

const TICKS = 100; // at most
const SVG = 'http://www.w3.org/2000/svg';

export class Slider {
	/** `move(revision)` is called while it is dragged. */
	constructor(move) {
		this.range = h('input', { type: 'range', step: 1, 'aria-label': 'Revision', input: () => move(Number(this.range.value)) });
		this.ticks = document.createElementNS(SVG, 'svg');
		this.ticks.setAttribute('aria-hidden', 'true');
		this.ticks.setAttribute('preserveAspectRatio', 'none');
		this.path = document.createElementNS(SVG, 'path');
		this.ticks.append(this.path);
		this.place = h('output.place');
		this.element = h('div.slider', h('span.track', this.ticks, this.range), this.place);
	}

	draw({ base, revision, at, text, starts }) {
		this.range.min = base;
		this.range.max = revision;
		this.range.value = at;
		this.range.disabled = revision === base;
		this.range.setAttribute('aria-valuetext', text);
		fill(this.place, h('b', at), ` of ${revision}`);
		const all = Math.max(1, revision - base);
		const step = Math.max(1, all / TICKS);
		const counts = new Map();
		for (const start of starts) {
			const place = Math.floor((start - base) / step) * step;
			counts.set(place, (counts.get(place) ?? 0) + 1);
		}
		const most = Math.max(...counts.values());
		this.ticks.setAttribute('viewBox', `0 0 ${all} 1`);
		this.path.setAttribute('d', [...counts].map(([place, count]) => `M${place} 1V${1 - count / most}`).join(''));
	}
}
