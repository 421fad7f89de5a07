// Two places of one session, or of two: their states side by side, and the events from where they part.

import { get, sessionPath, withQuery } from './api.js';
import { field, fill, h, wordInput } from './dom.js';
import { describe, eventLine } from './event.js';
import { glance } from './frameworks.js';
import { inline, tree } from './jsonview.js';
import { compareAddress, go, sessionAddress } from './router.js';
import { compare, SIGNS } from './states.js';

/** The address has `at`, the session `with` (by default the same), and its place `to`. No place: the end. */
export async function openCompare({ root, names: [app, user, id], query, signal, setTitle }) {
	setTitle(`Compare ${id}`);
	const [at, other, to] = ['number', 'text', 'number'].map((type) => wordInput({ type, min: 0, placeholder: 'end' }));
	const submit = (event) => {
		event.preventDefault();
		go(compareAddress(app, user, id, { at: at.value, with: other.value, to: to.value }));
	};
	const all = h('input', { type: 'checkbox', change: () => list.classList.toggle('all', all.checked) });
	const [list, parted, columns] = [h('ul.pairs'), h('h2'), h('div.twins')];
	fill(root, h('div.plain', h('header.bar', h('h1', 'Compare ', h('a', { href: sessionAddress(app, user, id) }, h('bdi', id)))),
		h('form.filters', { submit, change: submit }, field('At event', at), field('With session', other), field('At event', to)),
		h('header.bar', h('h2', 'State'), h('label.check', all, 'all keys')), list, parted, columns));

	async function side(session, place) {
		const path = sessionPath(app, user, session);
		const { json } = await get(withQuery(path, { numRecentEvents: 0 }), signal);
		const revision = json.number('revision');
		const at = place ? Math.min(Number(place), revision) : revision;
		return { id: session, path, at, base: json.number('baseRevision') ?? 0, state: (await get(withQuery(`${path}/state`, { atRevision: at }), signal)).json };
	}

	/** The last event that both have. */
	async function commonOf(left, right) {
		let [low, high] = [Math.max(left.base, right.base), Math.min(left.at, right.at)];
		if (left.id === right.id) return high;
		while (low < high) {
			const middle = Math.ceil((low + high) / 2);
			const [one, two] = await Promise.all([left, right].map(async ({ path }) =>
				(await get(withQuery(`${path}/events`, { afterSequence: middle - 1, pageSize: 1 }), signal)).json.get('events').items[0]?.string('id')));
			if (one === two) low = middle;
			else high = middle - 1;
		}
		return low;
	}

	/** The first events of a side behind a place. */
	async function eventsOf({ id: session, path, at }, common) {
		const { json } = await get(withQuery(`${path}/events`, { afterSequence: common, beforeSequence: at + 1 }), signal);
		const calls = new Map();
		const rows = json.get('events').items.map((one) => describe(one, calls)).map((event) =>
			h('li', h('a.row', { href: sessionAddress(app, user, session, { at: event.sequence }) }, eventLine(event))));
		return h('section', h('h3', h('bdi', session), ` to event ${at}`), h('ol', rows), rows.length ? at - common > rows.length && '…' : 'No event.');
	}

	async function update(query) {
		[at.value, other.value, to.value] = [query.at ?? '', query.with || id, query.to ?? ''];
		const [left, right] = await Promise.all([side(id, at.value), side(other.value, to.value)]);
		const rows = compare(left.state, right.state);
		const value = (one, key) => h('span.value', one ? inline(glance(key, one)) : h('span.dim', 'none'));
		fill(list, h('li.pair.dim', h('span.sign'), h('span', 'Key'), [left, right].map((one) => h('span', h('bdi', one.id), ` at ${one.at}`))), rows.map(({ key, change, old, value: now }) => h(`li.${change || 'same'}`, h('details', h('summary.pair',
			h('span.sign', { 'aria-hidden': 'true' }, SIGNS[change]), h('bdi.name', key), value(old, key), value(now, key)),
			h('div.twins', [old, now].map((one) => h('div', one && tree(one))))))), !rows.some(({ change }) => change) && h('li.empty', 'No key differs.'));
		const common = await commonOf(left, right);
		fill(parted, common ? `Events after ${common}, which both have` : 'Events');
		fill(columns, await Promise.all((left.id === right.id ? [left.at > right.at ? left : right] : [left, right]).map((one) => eventsOf(one, common))));
	}

	await update(query);
	return { update };
}
