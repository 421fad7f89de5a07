// Dialogs that send a request, which they show as curl before.

import { curl, Problem, send } from './api.js';
import { copy, copyButton, dialog, field, fill, h, saveAs, toast, wordInput } from './dom.js';

/** Copies the request that reads a path. */
export const curlButton = (path) => copyButton('Copy as curl', curl({ path }));

/** Saves the bytes that are read at a path as a file. */
export async function download(path, name, isWhole = () => true) {
	const { taken } = await send({ path, take: (answer) => answer.blob() });
	if (await isWhole(taken)) saveAs(name, taken);
	else toast('It is cut.', 'error');
}

/** All of a session, a user or an app, as it is stored. */
export const exportButton = (of, name) => h('button', {
	click: () => download(`${of}/export`, `${name}.ndjson`, async (all) => (await all.slice(-200).text()).includes('"type":"end"')).catch(complain),
}, 'Export');

/** `update(request)` shows one as curl, or an Error why there is none. */
function requestBox() {
	const text = h('code');
	const button = h('button.quiet', { click: () => copy(text.textContent) }, 'Copy as curl');
	const element = h('div.request', h('pre', { tabindex: 0, 'aria-label': 'The request as curl' }, text), button);
	element.update = (request) => {
		text.textContent = request instanceof Error ? request.message : curl(request);
		button.hidden = request instanceof Error;
	};
	return element;
}

/**
 * `request()` gives the request, or throws an Error with what is wrong with the fields. After a success the dialog closes, `said` is
 * shown and `done(answer)` called. `failed(problem, { trouble, build })` is true if it has dealt with it. Where there is danger,
 * Cancel has the focus; what has an `id` is sent when that has been typed.
 */
export function ask({ title, about, id, fields, action, danger = id !== undefined, request, said, done, failed }) {
	const typed = wordInput();
	const shown = requestBox();
	const trouble = h('div.trouble', { role: 'alert' });
	const button = h(danger ? 'button.danger' : 'button.primary', { type: 'submit' }, action);
	const build = () => {
		try {
			if (id !== undefined && typed.value !== id) throw new Error('The id is not typed yet.');
			const built = request();
			shown.update(built);
			button.disabled = false;
			return built;
		} catch (error) {
			shown.update(error);
			button.disabled = true;
			return undefined;
		}
	};
	const submit = async (event) => {
		event.preventDefault();
		const built = build();
		if (!built) return;
		button.disabled = true;
		fill(trouble);
		try {
			const answer = await send(built);
			box.close();
			if (said) toast(said);
			await done?.(answer);
		} catch (problem) {
			if (!(problem instanceof Problem)) throw problem;
			if (!failed?.(problem, { trouble, build })) fill(trouble, problemText(problem));
		} finally {
			button.disabled = false;
		}
	};
	const cancel = h('button', { click: () => box.close() }, 'Cancel');
	const form = h('form', { submit, input: build, change: build },
		about && h('p', about), id !== undefined && field(['Type ', h('bdi.id', id), ' to confirm'], typed), fields, shown, trouble, h('footer', cancel, button));
	const box = dialog(title, form);
	build();
	(danger ? cancel : form.querySelector('input, textarea, select') ?? button).focus();
}

/** For an Idempotency-Key: what is sent again with it is done once. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');

export function problemText(problem) {
	const fields = (problem.body?.get('errors')?.items ?? [])
		.map((error) => h('li', h('code', error.string('field')), ' ', error.string('message')));
	const outcome = problem.body?.string('outcome');
	return h('div.problem', h('p', problem.message), fields.length > 1 && h('ul', fields),
		outcome === 'unknown' && h('p', 'It may have been applied. Look before you send it again.'),
		problem.requestId && h('p.dim', `Request ${problem.requestId}`));
}

/** Says what failed, not what was given up. */
export function complain(problem) {
	if (problem.name !== 'AbortError') toast(problem.message, 'error');
}
