// What the server is and takes, and who is signed in.

import { hasRole, who } from './access.js';
import { get, Problem } from './api.js';
import { facts, fill, h } from './dom.js';
import { curlButton, problemText } from './request.js';
import { refresh } from './shared.js';
import { size, time } from './times.js';

const PROBE = '/v1/apps?pageSize=1';
const COUNTS = '/v1/requests';
const DATABASES = { sqlite: 'SQLite', postgresql: 'PostgreSQL' };
const KINDS = { none: 'none is asked for', key: 'API key', token: 'user token', jwt: 'JWT' };

export async function openServer({ root, signal }) {
	const { info, json: whoami } = who;
	const readiness = h('span', { 'aria-live': 'polite' });
	const check = async () => fill(readiness, await probe(signal));
	await check();
	const database = info.string('database');
	fill(root, h('div.plain',
		h('header.bar', h('h1', 'Server'), curlButton('/v1/info'), h('button', { click: check }, 'Check again')),
		facts([
			['Version', info.string('version')],
			['Database', DATABASES[database] ?? database],
			['Readiness', readiness],
			['Features', who.features.map((feature) => [h('span.label', feature), ' '])],
			['Reference', [h('a', { href: '../docs' }, 'All operations'), ' · ', h('a', { href: '../openapi.yaml' }, 'openapi.yaml')]],
		], '.wide'),
		h('h2', 'Limits'),
		facts(info.get('limits').members.map(({ key, value }) => [key.string(), limit(key.string(), value)]), '.wide.many'),
		h('header.bar', h('h2', 'Who you are'), curlButton('/v1/whoami')),
		facts([
			['Credential', KINDS[who.kind] ?? who.kind],
			who.id && [who.kind === 'jwt' ? 'Subject' : 'Key id', h('bdi', who.id)],
			['Role', who.role],
			['Apps', names(who.apps)],
			['Users', names(who.users)],
			who.kind !== 'none' && ['Expires', whoami.get('expireTime') ? time(whoami.number('expireTime')) : 'never'],
		], '.wide.many'),
		hasRole('operator') && who.apps.includes('*') && who.users.includes('*') && requests(signal)));
}

const MINUTES = 5;
const readings = []; // of this tab: { time, counts }, where a count has its method, route and status for a name

/** What this process has answered in the last minutes, as far as this page has read it, and since its start. */
function requests(signal) {
	const body = h('tbody');
	const title = h('th.number', { scope: 'col' });
	const draw = async () => {
		const { json } = await get(COUNTS, signal);
		const now = performance.now();
		const counts = new Map(json.get('requests').items.map((one) => [['method', 'route', 'status'].map((name) => one.string(name) ?? one.get(name).text).join(' '), one.number('count')]));
		// Less than before: it is another process.
		if ([...readings.at(-1)?.counts ?? []].some(([name, count]) => !(counts.get(name) >= count))) readings.length = 0;
		while (readings[1]?.time < now - MINUTES * 60_000) readings.shift();
		readings.push({ time: now, counts });
		const [{ time: from, counts: before }] = readings;
		const rows = [...counts].map(([name, count]) => [name, count - (before.get(name) ?? 0), count]).sort((a, b) => b[1] - a[1] || b[2] - a[2]);
		title.textContent = now > from ? `In ${Math.round((now - from) / 1000)} s` : 'Lately';
		fill(body, rows.map(([name, lately, count]) => {
			const [method, route, status] = name.split(' ');
			return h(`tr${status >= 500 ? '.failure' : ''}`, h('td', { title: name }, `${method} ${route}`), h('td.number', status), [lately, count].map((one) => h('td.number', one.toLocaleString('en'))));
		}));
	};
	refresh(draw, signal); // readiness is said above
	return [h('header.bar', h('h2', 'Requests to this process'), curlButton(COUNTS)),
		h('table.requests', { 'aria-label': 'Requests' }, h('thead', h('tr', h('th', { scope: 'col' }, 'Route'), h('th.number', { scope: 'col' }, 'Status'), title, h('th.number', { scope: 'col' }, 'Since its start'))), body)];
}

/** A read that needs the database. */
async function probe(signal) {
	const start = performance.now();
	try {
		await get(PROBE, signal);
		return [h('span.ready', 'Ready'), h('span.dim', `: a read of the database took ${Math.max(1, Math.round(performance.now() - start))} ms`)];
	} catch (problem) {
		if (!(problem instanceof Problem) || problem.status === 401) throw problem;
		return h('div.failure', problemText(problem));
	}
}

const names = (list) => (list.includes('*') ? 'all' : list.map((name, index) => [index > 0 && ', ', h('bdi', name)]));

function limit(name, value) {
	if (name.endsWith('Seconds')) return `${value.text} s`;
	return name.endsWith('Bytes') ? size(value.number(), 15) : value.number().toLocaleString('en');
}
