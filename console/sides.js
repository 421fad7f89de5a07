// The frame of a page with a list and a narrower side; on a small screen one of the two is shown.

import { fill, h } from './dom.js';

/** `main` and `side` are a name and contents. */
export function sides(root, { head, main, side }) {
	const parts = [main, side].map(([, ...content]) => h('div', content));
	const show = (chosen) => parts.forEach((part, index) => {
		part.classList.toggle('shown', index === chosen);
		buttons[index].setAttribute('aria-pressed', String(index === chosen));
	});
	const buttons = [main, side].map(([name], index) => h('button', { click: () => show(index) }, name));
	show(0);
	fill(root, h('div.plain', h('header.bar', head),
		h('div.chooser', { role: 'group', 'aria-label': 'Part' }, buttons), h('div.columns', parts)));
}
