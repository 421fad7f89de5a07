// Ctrl K: goes to apps by a part of their name, to users by its beginning, to sessions by words of title and id: in the app that is open,
// and in others.

import { get, path, withQuery } from './api.js';
import { dialog, fill, h, wordInput } from './dom.js';
import { recent } from './recent.js';
import { appAddress, go, parse, sessionAddress, userAddress } from './router.js';

const DEBOUNCE = 120;
const MOST = 6; // of a kind
const APPS = 12; // that are searched

export function openPalette() {
	let [places, chosen, turn, waiting] = [[], 0, new AbortController(), 0];
	const lines = h('ul.places', { role: 'listbox', id: 'places', 'aria-label': 'Places' });
	const hint = h('p.hint', { 'aria-live': 'polite' });
	const input = wordInput({
		role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'places', 'aria-label': 'App, user or session',
		placeholder: 'app, session id, or app / user / session',
		input: () => { clearTimeout(waiting); waiting = setTimeout(look, DEBOUNCE); },
		keydown: (event) => {
			const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
			if (!step) return;
			event.preventDefault();
			chosen = Math.min(Math.max(chosen + step, 0), places.length - 1);
			mark();
		},
	});
	const open = (place) => { box.close(); go(place.address); };
	const submit = async (event) => {
		event.preventDefault();
		clearTimeout(waiting);
		await look();
		if (places[chosen]) open(places[chosen]);
	};
	let shownFor;
	async function look() {
		const text = input.value.trim();
		if (text === shownFor) return;
		turn.abort();
		turn = new AbortController();
		const { signal } = turn;
		let left = 0;
		const found = await find(text, signal, (count) => { left = count; });
		if (signal.aborted) return;
		[places, chosen, shownFor] = [found, 0, text];
		fill(lines, places.map((place, index) => h('li', { role: 'option', id: `place-${index}`, click: () => open(place) },
			h('span.tag', place.kind), h('bdi', place.name), place.about && h('bdi.dim', place.about))));
		const none = places.length === 0 && (text ? 'Nothing has this. ' : 'Names between slashes; write %2F for a slash in a name.');
		fill(hint, none, left > 0 && `Apps that were not searched: ${left}. Name one, and a slash.`);
		mark();
	}
	function mark() {
		[...lines.children].forEach((line, index) => line.setAttribute('aria-selected', String(index === chosen)));
		lines.children[chosen]?.scrollIntoView({ block: 'nearest' });
		if (places.length) input.setAttribute('aria-activedescendant', `place-${chosen}`);
		else input.removeAttribute('aria-activedescendant');
	}
	const box = dialog('Go to', h('form', { submit }, input), lines, hint);
	box.classList.add('palette');
	box.addEventListener('close', () => turn.abort());
	input.focus();
	look();
}

const place = {
	app: (app) => ({ kind: 'app', name: app, address: appAddress(app) }),
	user: (app, user) => ({ kind: 'user', name: user, about: app, address: userAddress(app, user) }),
	session: (app, user, id, title) => ({ kind: 'session', name: title || id, about: `${app} / ${user}${title ? ` / ${id}` : ''}`, address: sessionAddress(app, user, id) }),
};

/** What has a text, or names between slashes, the last of which may be a beginning. `onLeft` hears of apps that were not searched. */
async function find(text, signal, onLeft) {
	const pasted = text.indexOf('#/');
	if (pasted >= 0) return [{ kind: 'address', name: text.slice(pasted), address: text.slice(pasted) }];
	const [app, user, id, ...rest] = namesOf(text);
	if (user === undefined) return distinct([...lately(text), ...text ? await anywhere(text, signal, onLeft) : []]);
	if (id === undefined) return distinct([...await usersOf(app, user, signal), user && place.user(app, user)]);
	if (rest.length > 0) return [];
	const own = await sessionsOf(path('apps', app, 'users', user, 'sessions'), id, signal);
	return distinct([...own, id && place.session(app, user, id)]);
}

function namesOf(text) {
	try {
		return text.split('/').map((part) => decodeURIComponent(part.trim()));
	} catch {
		return [text]; // a percent sign that is one
	}
}

function distinct(found) {
	const all = found.filter(Boolean);
	return all.filter((one, index) => all.findIndex((other) => other.address === one.address) === index).slice(0, 4 * MOST);
}

const lately = (text) => recent().filter(({ id, title = '' }) => `${id}\n${title}`.toLowerCase().includes(text.toLowerCase()))
	.map(({ app, user, id, title }) => place.session(app, user, id, title));

/** Apps; and what the open app and the first others have of this. */
async function anywhere(text, signal, onLeft) {
	const [, open] = parse(location.hash)?.names ?? [];
	const apps = await list('/v1/apps?pageSize=1000', 'apps', (one) => one.string('appName'), signal);
	const all = [...new Set([open, ...apps])].filter(Boolean);
	onLeft(all.length - APPS);
	const groups = await Promise.all([
		apps.filter((name) => name.toLowerCase().includes(text.toLowerCase())).slice(0, MOST).map(place.app),
		...all.slice(0, APPS).flatMap((one) => [sessionsOf(path('apps', one, 'sessions'), text, signal, 'title'), usersOf(one, text, signal)]),
	]);
	return groups.flat();
}

/** None if it cannot be read. */
async function list(address, name, make, signal) {
	const answer = await get(address, signal).catch(() => undefined);
	return (answer?.json.get(name).items ?? []).map(make);
}

async function usersOf(app, userPrefix, signal) {
	const address = withQuery(path('apps', app, 'sessions'), { userPrefix, pageSize: 100 });
	const users = await list(address, 'sessions', (one) => one.string('userId'), signal);
	return [...new Set(users)].slice(0, MOST).map((user) => place.user(app, user));
}

function sessionsOf(address, text, signal, field = 'idPrefix') {
	const query = { [field]: text, orderBy: 'lastUpdateTime', order: 'desc', pageSize: MOST };
	const make = (one) => place.session(...['appName', 'userId', 'id', 'displayName'].map((name) => one.string(name)));
	return list(withQuery(address, query), 'sessions', make, signal);
}
