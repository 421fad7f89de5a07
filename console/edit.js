// Editing state by operators. What somebody else changed meanwhile (412) is shown before it is tried again.

import { get } from './api.js';
import { fill, field, h, isAsking, wordInput } from './dom.js';
import { compose, quote, read } from './json.js';
import { inline } from './jsonview.js';
import { ask, newKey } from './request.js';
import { changes, compare } from './states.js';

const OPERATORS = {
	set: ['Replaces the value.', '"value"'],
	increment: ['Adds a number, exactly.', '1'],
	append: ['Adds elements to an array.', '["element"]'],
	union: ['Adds elements that are not there yet.', '["element"]'],
	max: ['Keeps the greater number.', '1'],
	min: ['Keeps the smaller number.', '1'],
	merge: ['Replaces members; null removes one.', '{"name":"value"}'],
	remove: ['Removes the key.'],
};

/** `path` is that of the state of a session, a user or an app. */
export async function editState({ path, title, key = '', signal, done }) {
	let { json: state, tag } = await get(path, signal);
	signal.throwIfAborted();
	if (isAsking()) return; // another key was faster
	let written; // the body that the key is for
	let retry;
	const names = h('datalist', { id: 'state-keys' });
	const keyInput = wordInput({ value: key, list: 'state-keys', required: true });
	const operator = h('select', Object.keys(OPERATORS).map((name) => h('option', { value: name }, name)));
	const hint = h('span.hint');
	const value = h('textarea', { rows: 4, spellcheck: 'false' }, state.get(key)?.text ?? '');
	const valueField = field('Value, as JSON', value, hint);
	const before = h('dd');
	const preview = h('dl.facts.preview', { 'aria-live': 'polite' }, h('dt', 'Now'), before);

	const request = () => {
		const [name, op] = [keyInput.value, operator.value];
		const current = state.get(name);
		const [about, example] = OPERATORS[op];
		fill(hint, about, example && [' For example ', h('code', example)]);
		valueField.hidden = op === 'remove';
		fill(names, state.names().map((one) => h('option', { value: one })));
		fill(before, current ? inline(current, 300) : h('span.dim', 'not set'));
		if (!name) throw new Error('Name the key.');
		const operand = op === 'remove' ? undefined : parsed(value.value);
		const change = compose({ op: quote(op), key: quote(name), value: operand?.text });
		const body = `{"stateOps":[${change}]}`;
		if (body !== written) [written, retry] = [body, newKey()];
		return { method: 'PATCH', path, headers: { 'If-Match': tag, 'Idempotency-Key': retry }, body };
	};

	ask({
		title,
		fields: [field('Key', keyInput), names, field('Operator', operator), valueField, preview],
		action: 'Apply',
		request,
		said: 'State changed',
		done,
		failed(problem, { trouble, build }) {
			if (problem.status !== 412) return false;
			showMeanwhile(trouble, build);
			return true;
		},
	});

	/** Reads the state anew, says what is different, and makes the request anew. */
	async function showMeanwhile(trouble, build) {
		const seen = state;
		({ json: state, tag } = await get(path));
		const rows = compare(seen, state).filter((row) => row.change);
		fill(trouble, h('div.meanwhile',
			h('p', h('b', 'Somebody changed it meanwhile. Nothing of yours was written.'), ' The request now starts from the new state; apply again if it is still what you want.'),
			rows.length === 0 ? h('p', 'The state has the same values as before; the session has new events.')
				: changes(rows)));
		build();
	}
}

function parsed(text) {
	if (text.trim() === '') throw new Error('Write a value as JSON; a text needs quotes.');
	return read(text);
}
