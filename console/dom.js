// Elements from names, attributes and text. Text is always a text node: nothing that a session holds becomes markup.

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

/** Text that copies when pressed, and says so. */
export function copyButton(label, text, attributes = {}) {
	return h('button.quiet', { ...attributes, click: async () => copy(typeof text === 'function' ? await text() : text) }, label);
}

export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		toast('Copied');
	} catch {
		// No permission, or a page that is not a secure context: show the text to be copied by hand.
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

/** Nothing stays open that was asked elsewhere. */
export const closeDialogs = () => document.querySelectorAll('dialog').forEach((box) => box.close());

/** Names and what they are, each pair a row; none where there is no pair. */
export const facts = (rows, look = '') => h(`dl.facts${look}`, rows.filter(Boolean).map(([name, value]) => [h('dt', name), h('dd', value)]));

/** A field for names and other words that no dictionary has. */
export const wordInput = (attributes) => h('input', { spellcheck: 'false', autocomplete: 'off', ...attributes });

/** A labelled field. */
export function field(label, control, hint) {
	return h('label.field', h('span.label', label), control, hint && h('span.hint', hint));
}
