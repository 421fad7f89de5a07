// What the server is and takes, and who is signed in.

import { who } from './access.js';
import { get, Problem } from './api.js';
import { facts, fill, h } from './dom.js';
import { curlButton, problemText } from './request.js';
import { size, time } from './times.js';

const PROBE = '/v1/apps?pageSize=1';
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
		], '.wide.many')));
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
