// The past of a key: who set it, with links to the events.

import { get, withQuery } from './api.js';
import { fill, h } from './dom.js';
import { inline } from './jsonview.js';
import { problemText } from './request.js';
import { sessionAddress } from './router.js';
import { exact } from './times.js';

/** Of a key of the session on the page: the change that is in force at an event, and all others, latest first. */
export function pastOf(page, key) {
	const { at } = page;
	const set = h('p');
	const list = h('ol.past', { 'aria-label': 'Its past' });
	const more = h('button.quiet', { hidden: true, click: () => read() }, 'Earlier changes');
	// The revision of a shared key is that of its scope: the time says whether a change is later than the place.
	const until = at === page.history.revision ? Infinity : page.history.find(at)?.json.number('commitTime') ?? page.session.number('createTime');
	const isBefore = (change) => (/^(app|user):/.test(key) ? change.number('time') <= until : change.number('revision') <= at);
	let [next, current] = [];
	const line = (change) => {
		const isCurrent = !current && isBefore(change);
		if (isCurrent) {
			current = change;
			fill(set, change.get('removed') ? 'Removed ' : 'Set ', origin(page, change), ', ', when(change));
		}
		return h('li', { 'aria-current': isCurrent ? 'true' : undefined }, h('span', origin(page, change)), when(change),
			change.get('removed') ? h('del', 'removed') : inline(change.get('value'), 120));
	};
	const read = async () => {
		try {
			const { json } = await get(withQuery(`${page.path}/state/${encodeURIComponent(key)}/history`, { pageSize: 20, pageToken: next }), page.signal);
			next = json.string('nextPageToken');
			list.append(...json.get('changes').items.map(line));
			more.hidden = next === undefined;
			if (!current) fill(set, 'Set earlier.');
		} catch (problem) {
			fill(set, problemText(problem));
		}
	};
	read();
	return h('div.pasts', set, list, more);
}

function origin({ app, user, id }, change) {
	const by = change.get('by');
	if (by) {
		const [other, session, sequence] = [by.string('userId'), by.string('sessionId'), by.get('sequence').text];
		return ['by ', h('bdi', by.string('author') || 'no author'), ' at ',
			h('a', { href: sessionAddress(app, other, session, { at: sequence }) }, `event ${sequence}`), (session !== id || other !== user) && [' of ', h('bdi', session)]];
	}
	if (!change.get('base')) return 'without an event';
	return change.number('revision') ? 'before the log begins' : 'as it was created';
}

/** The minute, with the day if it is not today. */
function when(change) {
	const time = exact(change.number('time'));
	const isToday = time.startsWith(exact(Date.now() / 1000).slice(0, 10));
	return h('span', { title: time }, time.slice(isToday ? 11 : 0, 16));
}
