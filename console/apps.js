// The first page: apps with what they do, and the sessions that were opened in this browser.

import { mayWrite, who } from './access.js';
import { firstSession, get, path } from './api.js';
import { example, fill, h, sides } from './dom.js';
import { PagedTable } from './paged.js';
import { forgetAll, recent } from './recent.js';
import { complain } from './request.js';
import { appAddress, sessionAddress } from './router.js';
import { exact, time } from './times.js';

export async function openApps({ root, signal }) {
	const rows = new Map(); // tr -> name
	const lastSession = async (row, app) => {
		const { json } = await get(`${path('apps', app, 'sessions')}?orderBy=lastUpdateTime&order=desc&pageSize=1`, signal);
		const [session] = json.get('sessions').items;
		if (!session) return;
		const [id, user, title] = ['id', 'userId', 'displayName'].map((name) => session.string(name));
		fill(row.querySelector('.last'), h('a', { href: sessionAddress(app, user, id), title: id }, h('bdi', title || id)));
		fill(row.querySelector('.when'), time(session.number('lastUpdateTime')));
	};
	const activity = async (row, app) => {
		const { json } = await get(path('apps', app, 'activity'), signal);
		const count = (name, more) => `${json.number(name).toLocaleString('en')}${json.get(more).text === 'true' ? '+' : ''}`;
		fill(row.querySelector('.sum'), count('sessions', 'moreSessions'));
		fill(row.querySelector('.day'), count('events', 'moreEvents'));
		const error = json.get('lastError');
		if (!error) return;
		const [user, id, code, message = ''] = ['userId', 'sessionId', 'errorCode', 'errorMessage'].map((name) => error.string(name));
		fill(row.querySelector('.fault'), h('a', { href: sessionAddress(app, user, id, { at: error.get('sequence').text }), title: `${exact(error.number('commitTime'))}\n${message}` }, h('bdi', code)));
	};
	// Requests for each row: only of those that are seen. Who sees some users alone has no numbers of all.
	const shown = who.users.includes('*') ? [lastSession, activity] : [lastSession];
	const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
		seen.unobserve(target);
		shown.forEach((show) => show(target, rows.get(target)).catch(complain));
	}));
	signal.addEventListener('abort', () => seen.disconnect());

	const table = new PagedTable({
		label: 'Apps', items: 'apps', signal,
		columns: [{ title: 'App' }, { title: 'Sessions', look: 'number.sum' }, { title: 'Events in 24 h', look: 'number.day' }, { title: 'Last error', look: 'fault' },
			{ title: 'Last session', look: 'last' }, { title: 'Updated', look: 'when' }],
		address: () => '/v1/apps?pageSize=1000',
		row: (app) => {
			const name = app.string('appName');
			const row = h('tr', h('td', h('a.open', { href: appAddress(name), title: name }, h('bdi', name))),
				h('td.number.sum'), h('td.number.day'), h('td.fault'), h('td.last'), h('td.when'));
			rows.set(row, name);
			seen.observe(row);
			return row;
		},
		empty: () => h('div.empty', h('p', mayWrite() ? 'There are no apps yet. The first session makes one:' : 'There are no apps that you may see.'),
			mayWrite() && example(firstSession('shop', 'ada'))),
	});
	await table.load();
	sides(root, { head: h('h1', 'Apps'), main: ['Apps', table.element], side: ['Recent', recentSessions()] });
	return { keys: () => table.keys() };
}

function recentSessions() {
	const list = h('section.scope');
	const forget = () => { forgetAll(); draw(); };
	const draw = () => {
		const sessions = recent();
		fill(list, h('h3', 'Recent in this browser'),
			sessions.length === 0 ? h('p.empty', 'Sessions that you open are listed here.') : [
				h('ul.links', sessions.map(({ app, user, id, title }) => h('li',
					h('a', { href: sessionAddress(app, user, id), title: id }, h('bdi', title || id)), ' ', h('bdi.dim', `${app} / ${user}`)))),
				h('div.bar', h('button.quiet', { click: forget }, 'Forget these')),
			]);
	};
	draw();
	return list;
}
