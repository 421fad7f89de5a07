// What is around a session: who holds its lease, who follows it, and links to other pages, which the server names.

import { who } from './access.js';
import { get } from './api.js';
import { fill, h } from './dom.js';
import { refresh } from './shared.js';
import { exact } from './times.js';

/**
 * Links for an event, if there is an `invocation` or an `event`, else for a session. An address has {app}, {user}, {session},
 * {invocation} and {event}, whose values are percent-encoded.
 */
export function outLinks(names) {
	const isOfEvent = names.invocation !== undefined || names.event !== undefined;
	return (who.info?.get('links')?.items ?? [])
		.map((link) => [link.string('name'), link.string('url')])
		.filter(([, url]) => /^https?:/.test(url) && /\{(invocation|event)\}/.test(url) === isOfEvent)
		.map(([name, url]) => h('a.label', {
			href: url.replace(/\{(\w+)\}/g, (_, word) => encodeURIComponent(names[word] ?? '')),
			target: '_blank', rel: 'noreferrer', title: 'Elsewhere',
		}, h('bdi', name), ' ↗'));
}

/** For the head of a session, up to date until the signal. `path` is that of the session. */
export function around({ app, user, id, path, signal }) {
	const lease = h('span.chips');
	const draw = ({ json }) => {
		const [owner, until, watchers] = [json.string('owner'), json.number('expireTime'), json.number('watchers')];
		const isOver = until * 1000 < Date.now();
		fill(lease,
			owner !== undefined && h('span.label', { title: `Epoch ${json.get('epoch').text}, until ${exact(until)}` }, isOver ? 'lease expired: ' : 'lease: ', h('bdi', owner)),
			watchers > 0 && h('span.label', { title: 'Streams and waits of this server, this page included' }, `${watchers} watching`));
	};
	// The page itself says what is wrong with the session.
	refresh(() => get(`${path}/lease`, signal).then(draw), signal);
	return [lease, outLinks({ app, user, session: id })];
}
