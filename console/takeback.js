// What a rewind restores, told before it is asked for.

import { get, withQuery } from './api.js';
import { fill, h } from './dom.js';
import { problemText } from './request.js';
import { changes, compare } from './states.js';

/** The keys and files of the session that differ now from a revision, in a list that fills itself. */
export function preview(page, to) {
	const list = h('div.meanwhile', { 'aria-live': 'polite' }, 'Comparing…');
	const states = Promise.all([page.states.at(page.history.revision), page.states.at(to)]);
	const files = Promise.all([page.history.revision, to].map((revision) => filesAt(page, revision)));
	Promise.all([states, files]).then(([[now, then], [newer, older]]) => {
		const keys = compare(now, then).filter(({ scope, change }) => scope === 'session' && change);
		const names = [...new Set([...newer.keys(), ...older.keys()])].filter((name) => newer.get(name) !== older.get(name));
		const version = (name, all) => (all.has(name) ? `v${all.get(name)}` : 'none');
		fill(list, h('b', keys.length + names.length ? 'It restores' : 'State and files stay as they are.'), changes(keys),
			names.length > 0 && h('ul.keys', names.map((name) => h('li.changed', h('span.sign', { 'aria-hidden': 'true' }, '~'), 'file ', h('bdi', name), `: ${version(name, newer)} → ${version(name, older)}`))));
	}).catch((problem) => fill(list, problemText(problem)));
	return list;
}

/** Files of the session, and their versions at a revision. */
async function filesAt({ path, signal }, atRevision) {
	const found = new Map();
	for (let pageToken; ;) {
		const { json } = await get(withQuery(`${path}/artifacts`, { atRevision, pageSize: 1000, pageToken }), signal);
		for (const one of json.get('artifacts').items) {
			if (!one.string('name').startsWith('user:')) found.set(one.string('name'), one.get('version').text);
		}
		pageToken = json.string('nextPageToken');
		if (pageToken === undefined) return found;
	}
}
