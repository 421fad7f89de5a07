// Start: asks who is signed in, and opens the page that the address names.

import { hasFeature, hasRole, who } from './access.js';
import { credential, get, whenUnauthenticated } from './api.js';
import { openApp } from './app.js';
import { openApps } from './apps.js';
import { openCompare } from './compare.js';
import { closeDialogs, fill, h } from './dom.js';
import { listen } from './keyboard.js';
import { openErasures } from './erasures.js';
import { openFeed } from './feed.js';
import { openKeys } from './keys.js';
import { forgetAll } from './recent.js';
import { problemText } from './request.js';
import { href, parse } from './router.js';
import { openServer } from './server.js';
import { openSession } from './session.js';
import { openSignIn } from './signin.js';
import { openUser } from './user.js';

const root = document.getElementById('main');
let current = { names: undefined, page: undefined, stop: new AbortController() };

/** Pages by the form of their address; `feature` and `role` say who sees them in the navigation. */
const PAGES = [
	{ form: [], open: openApps, title: 'Apps' },
	{ form: ['feed'], open: openFeed, title: 'Feed', feature: 'feed' },
	{ form: ['keys'], open: openKeys, title: 'Keys', feature: 'keys', role: 'agent' },
	{ form: ['erasures'], open: openErasures, title: 'Erasures', feature: 'erasure', role: 'operator' },
	{ form: ['server'], open: openServer, title: 'Server' },
	{ form: ['app', '*'], open: openApp },
	{ form: ['app', '*', 'user', '*'], open: openUser },
	{ form: ['app', '*', 'user', '*', 'session', '*'], open: openSession },
	{ form: ['app', '*', 'user', '*', 'session', '*', 'compare'], open: openCompare },
];

function find(names) {
	for (const page of PAGES) {
		const fits = page.form.length === names.length && page.form.every((part, index) => part === '*' || part === names[index]);
		if (fits) return { page, names: names.filter((_, index) => page.form[index] === '*') };
	}
	return undefined;
}

function drawNavigation(active) {
	const shown = PAGES.filter((page) => page.title && (!page.feature || hasFeature(page.feature)) && (!page.role || hasRole(page.role)));
	const links = shown.map((page) =>
		h('a', { href: href(page.form), 'aria-current': page === active ? 'page' : undefined }, page.title));
	const leave = who.kind !== 'none' && h('button.quiet', { click: signOut }, 'Sign out');
	fill(document.getElementById('nav'), h('a.brand', { href: '#/' }, 'sessiond'), links, h('span.space'),
		h('span.role.dim', who.kind === 'none' ? 'no sign-in needed' : `${who.role}${who.id ? ` · ${who.id}` : ''}`), leave);
}

function signOut() {
	credential.clear();
	forgetAll();
	location.reload();
}

function setTitle(text) {
	document.title = `${text} · sessiond`;
}

async function show() {
	closeDialogs();
	if (location.hash === '#main') return;
	if (!who.json) return root.querySelector('form') ? undefined : start();
	const route = parse(location.hash);
	const found = route && find(route.names);
	if (found && current.names?.join('\n') === route.names.join('\n') && current.page?.update) {
		return current.page.update(route.query).catch(fail);
	}
	current.stop.abort();
	const stop = new AbortController();
	current = { names: route?.names, page: undefined, stop };
	drawNavigation(found?.page);
	if (!found) return fill(root, h('div.plain', h('h1', 'There is no such page'), h('p', h('a', { href: '#/' }, 'To the apps'))));
	const waiting = setTimeout(() => root.classList.add('waiting'), 300);
	setTitle(found.page.title ?? found.names.at(-1));
	try {
		const page = await found.page.open({ root, names: found.names, query: route.query, signal: stop.signal, setTitle });
		if (current.stop === stop) current.page = page;
	} catch (error) {
		if (!stop.signal.aborted) fail(error);
	} finally {
		clearTimeout(waiting);
		root.classList.remove('waiting');
	}
}

function fail(error) {
	if (error.name === 'AbortError' || error.status === 401) return;
	if (error.status === undefined) throw error;
	const title = error.status === 404 ? 'This is not here' : 'This did not work';
	fill(root, h('div.plain', h('h1', title), problemText(error), h('p', h('a', { href: '#/' }, 'To the apps'))));
}

function signIn() {
	const wasRefused = credential.get() !== '';
	if (!who.json && !wasRefused && root.querySelector('form')) return; // it is asked for already
	who.json = undefined;
	current.stop.abort();
	current = { names: undefined, page: undefined, stop: new AbortController() };
	closeDialogs();
	openSignIn({ root, wasRefused, done: start });
}

let starting;

/** Asks who is there, then opens the page; once at a time. */
function start() {
	starting ??= identify().finally(() => { starting = undefined; });
	return starting;
}

async function identify() {
	try {
		const [whoami, info] = (await Promise.all(['/v1/whoami', '/v1/info'].map((one) => get(one)))).map(({ json }) => json);
		Object.assign(who, {
			...Object.fromEntries(['kind', 'id', 'role'].map((name) => [name, whoami.string(name)])),
			apps: whoami.strings('apps'), users: whoami.strings('users'), features: info.strings('features'), json: whoami, info,
		});
	} catch (error) {
		if (error.status !== 401) fail(error);
		return;
	}
	await show();
}

whenUnauthenticated(signIn);
addEventListener('hashchange', show);
document.getElementById('skip').addEventListener('click', (event) => { event.preventDefault(); root.focus(); });
listen(() => current.page?.keys?.() ?? {});
start();
