// The dialog that creates a session.

import { path } from './api.js';
import { field, h, wordInput } from './dom.js';
import { compose, quote, read } from './json.js';
import { ask } from './request.js';
import { go, sessionAddress } from './router.js';

/** `user` may be left out; then it is asked for. */
export function createSession({ app, user, suggestion = '' }) {
	const owner = wordInput({ value: user ?? suggestion, required: true });
	const id = wordInput({ placeholder: 'generated' });
	const title = wordInput({ spellcheck: 'true' });
	const state = h('textarea', { rows: 4, spellcheck: 'false', placeholder: '{"topic": "billing", "user:name": "Ada"}' });
	const labels = h('textarea', { rows: 2, spellcheck: 'false', placeholder: 'team=returns' });
	ask({
		title: 'New session',
		fields: [
			user === undefined && field('User', owner), field('Id', id), field('Title', title),
			field('State, as JSON', state, 'Keys that begin with app: or user: go to the shared state of the app or the user.'),
			field('Labels', labels, 'One name=value a line.'),
		],
		action: 'Create',
		request: () => {
			if (!owner.value) throw new Error('Name the user.');
			return {
				method: 'POST', path: path('apps', app, 'users', owner.value, 'sessions'),
				body: compose({
					sessionId: id.value ? quote(id.value) : undefined,
					displayName: title.value ? quote(title.value) : undefined,
					labels: labelsOf(labels.value),
					state: stateOf(state.value),
				}),
			};
		},
		done: ({ json }) => go(sessionAddress(app, json.string('userId'), json.string('id'))),
	});
}

function labelsOf(text) {
	const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
	if (lines.length === 0) return undefined;
	return compose(Object.fromEntries(lines.map((line) => {
		const at = line.indexOf('=');
		if (at < 1) throw new Error(`A label is name=value: ${line}`);
		return [line.slice(0, at), quote(line.slice(at + 1))];
	})));
}

/** The text goes out as it was typed. */
function stateOf(text) {
	if (text.trim() === '') return undefined;
	if (read(text).kind !== 'object') throw new Error('The state is an object: {"key": value}');
	return text.trim();
}
