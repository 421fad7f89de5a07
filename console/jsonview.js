// JSON on the screen, as it was stored: in one line, or as a tree that folds.

import { copyButton, h } from './dom.js';

const INLINE = 60;
const LONG = 4000;
const ITEMS = 100;
const BRACKETS = { object: '{}', array: '[]' };

/** One line, cut after `limit` characters. */
export function inline(json, limit = 200) {
	const line = h('code.json');
	let room = limit;
	const put = (kind, text) => {
		if (room <= 0) return;
		const shown = text.length > room ? `${text.slice(0, room)}…` : text;
		room -= text.length;
		line.append(kind ? h(`span.${kind}`, shown) : shown);
	};
	const walk = (value) => {
		if (room <= 0) return;
		if (!(value.kind in BRACKETS)) return put(value.kind, value.text);
		const [open, close] = BRACKETS[value.kind];
		put('', open);
		value.elements.forEach((element, index) => {
			put('', index ? ', ' : '');
			if (element.key) {
				put('key', element.key.text);
				put('', ': ');
			}
			walk(element.value ?? element);
		});
		put('', close);
	};
	walk(json);
	return line;
}

/** A tree that folds; small values stay in one line. */
export function tree(json, depth = 0) {
	return h('div.json.tree', branch(json, undefined, depth, ''));
}

function branch(json, key, depth, comma) {
	const label = key ? [inline(key, LONG), ': '] : [];
	const { elements } = json;
	if (elements.length === 0 || (json.text.length <= INLINE && depth > 0)) {
		return h('div.leaf', label, json.text.length > INLINE ? h(`code.${json.kind}`, longer(json.text)) : inline(json), comma);
	}
	const [open, close] = BRACKETS[json.kind];
	const inner = h('div.inner');
	const show = (from) => {
		const part = elements.slice(from, from + ITEMS);
		inner.append(...part.map((element, index) => {
			const end = from + index + 1 < elements.length ? ',' : '';
			return branch(element.value ?? element, element.key, depth + 1, end);
		}));
		const left = elements.length - from - part.length;
		if (left > 0) {
			const more = h('button.quiet', { click: () => { more.remove(); show(from + ITEMS); } }, `${left} more`);
			inner.append(more);
		}
	};
	// Deep trees are built when they are opened.
	const details = h('details', { open: depth < 3 },
		h('summary', label, open, h('span.fold', ` ${elements.length} `, close, comma)), inner, h('div', close, comma));
	if (depth < 3) show(0);
	else details.addEventListener('toggle', () => show(0), { once: true });
	return details;
}

/** Text that is cut if it is very long: more of it piece by piece, and a button that copies the whole. */
export function longer(text) {
	if (text.length <= LONG) return text;
	let shown = LONG;
	const more = h('button.quiet', { click: () => {
		more.before(text.slice(shown, shown += 10 * LONG));
		name();
	} });
	const name = () => {
		more.textContent = `… ${(text.length - shown).toLocaleString('en')} more characters`;
		more.hidden = shown >= text.length;
	};
	name();
	return [text.slice(0, LONG), more, copyButton('Copy whole', text)];
}
