// Elements. Text is always a text node: nothing that a session holds becomes markup.

/** h('button.primary', { click: listener }, 'Save'): functions listen, true and false set or leave out. */
export function h(name, ...rest) {
	const [tag, ...classes] = name.split('.');
	const element = document.createElement(tag);
	if (classes.length) element.className = classes.join(' ');
	if (tag === 'button') element.type = 'button';
	const [first] = rest;
	if (first !== null && typeof first === 'object' && !(first instanceof Node) && !Array.isArray(first)) {
		set(element, rest.shift());
	}
	element.append(...children(rest));
	return element;
}

function set(element, attributes) {
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === 'function') element.addEventListener(name, value);
		else if (['value', 'checked', 'disabled', 'open'].includes(name)) element[name] = value;
		else if (value === true) element.setAttribute(name, '');
		else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
	}
}

function children(list) {
	return list.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false);
}

export function fill(element, ...content) {
	element.replaceChildren(...children(content));
	return element;
}

export function copyButton(label, text, attributes = {}) {
	return h('button.quiet', { ...attributes, click: async () => copy(typeof text === 'function' ? await text() : text) }, label);
}

/** A command to copy. */
export const example = (command) => [h('pre.example', { tabindex: 0 }, command), copyButton('Copy', command)];

export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		toast('Copied');
	} catch {
		// No permission, or no secure context: it is copied by hand.
		const area = h('textarea.copied', { readonly: true, rows: 8, 'aria-label': 'Text to copy' }, text);
		dialog('Copy this', area);
		area.focus();
		area.select();
	}
}

/** A short message, read out by screen readers. */
export function toast(text, kind = 'status') {
	const place = document.getElementById('toasts');
	const line = h(`p.toast.${kind}`, text);
	place.append(line);
	setTimeout(() => line.remove(), kind === 'error' ? 8000 : 2500);
}

/** A modal dialog with a title; closes with Escape and gives its element. */
export function dialog(title, ...content) {
	const close = h('button.quiet.close', { 'aria-label': 'Close', click: () => box.close() }, '×');
	const box = h('dialog', { 'aria-label': title, close: () => box.remove() }, h('header', h('h2', title), close), content);
	document.body.append(box);
	box.showModal();
	return box;
}

/** Gives bytes to the browser to be saved, as no type that it would open. */
export function saveAs(name, blob) {
	const href = URL.createObjectURL(blob.slice(0, blob.size, 'application/octet-stream'));
	h('a', { href, download: name.replace(/[^\p{L}\p{M}\p{N}_.-]/gu, '_') }).click();
	setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

export const isAsking = () => document.querySelector('dialog') !== null;

/** Nothing stays open that was asked elsewhere. */
export const closeDialogs = () => document.querySelectorAll('dialog').forEach((box) => box.close());

/** Names and what they are; no row where there is no pair. */
export const facts = (rows, look = '') => h(`dl.facts${look}`, rows.filter(Boolean).map(([name, value]) => [h('dt', name), h('dd', value)]));

/** A field for words that no dictionary has. */
export const wordInput = (attributes) => h('input', { spellcheck: 'false', autocomplete: 'off', ...attributes });

export function field(label, control, hint) {
	return h('label.field', h('span.label', label), control, hint && h('span.hint', hint));
}

/** A page with a list and a narrower side, each a name and contents; on a small screen one of the two is shown. */
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
