// API keys and tokens of users. A secret is shown once.

import { hasRole, ROLES, who } from './access.js';
import { curl, path } from './api.js';
import { copyButton, dialog, example, field, fill, h, toast, wordInput } from './dom.js';
import { compose, quote } from './json.js';
import { PagedTable } from './paged.js';
import { ask, curlButton } from './request.js';
import { exact, time } from './times.js';

const [HOUR, DAY] = [3600, 86_400];
const TOKEN_TIMES = [['in 15 minutes', HOUR / 4], ['in an hour', HOUR], ['in 8 hours', 8 * HOUR], ['in a day', DAY]];
const KEY_TIMES = [['never', 'null'], ['in an hour', HOUR], ['in a day', DAY], ['in 30 days', 30 * DAY], ['in 90 days', 90 * DAY], ['in a year', 365 * DAY]];
const FIRST = { method: 'POST', path: '/v1/keys', body: '{"name":"shop agent","role":"agent","apps":["shop"]}' };

export async function openKeys({ root, signal }) {
	if (who.kind === 'none') return fill(root, noSignIn());
	const isAdmin = hasRole('admin');
	const mayIssue = who.kind === 'key' && hasRole('agent');
	const table = isAdmin && keyTable(signal);
	const create = () => changeKey({ table });
	if (isAdmin) await table.load();
	const button = (label, click) => h('button', { click }, label);
	fill(root, h('div.plain',
		h('header.bar', h('h1', 'Keys'), isAdmin && [curlButton('/v1/keys'),
			h('button.primary', { title: 'Create a key (n)', click: create }, 'New key')]),
		isAdmin ? table.element : h('p.dim', `Your role is ${who.role}; the role admin sees and makes keys.`),
		hasRole('agent') && [
			h('header.bar', h('h2', 'Tokens'), button('Revoke tokens…', revokeTokens), mayIssue && button('Issue a token…', issueToken)),
			h('p.dim', 'A token is for one user of one app, in a browser. It is stored nowhere, is never worth more than the key that issues it, and ends with it.',
				!mayIssue && ' Only an API key issues one.'),
		]));
	return { keys: () => (isAdmin ? { ...table.keys(), n: create } : {}) };
}

function noSignIn() {
	return h('div.plain', h('h1', 'Keys'),
		h('p', 'This server asks for no credential: everybody who reaches it may do everything. The first key switches sign-in on, within 5 s:'),
		example('sessiond keys create --name me --role admin --apps \'*\''));
}

function keyTable(signal) {
	const table = new PagedTable({
		label: 'Keys', items: 'keys', signal,
		columns: [{ title: 'Name' }, { title: 'Role', look: 'role-name' }, { title: 'Apps', look: 'names' }, { title: 'Users', look: 'names' },
			{ title: 'Used', look: 'when' }, { title: 'Expires', look: 'when' }, { title: h('span.unseen', 'Actions'), look: 'acts' }],
		address: () => '/v1/keys', row: (json) => row(keyOf(json), table), empty: () => h('div.empty', h('p', 'No key is within your grant. One for an agent:'), example(curl(FIRST))),
	});
	table.element.classList.add('keyring');
	return table;
}

function keyOf(json) {
	const [id, name, role] = ['id', 'name', 'role'].map((field) => json.string(field));
	return { id, name, role, apps: json.strings('apps'), users: json.strings('users'), used: json.number('lastUsedTime'), expires: json.number('expireTime') };
}

const isOwn = (key) => who.kind === 'key' && who.id === key.id;
const timeOrNever = (seconds) => (seconds === undefined ? 'never' : time(seconds));

function row(key, table) {
	const button = (label, click) => h('button.quiet', { 'aria-label': `${label} ${key.name}`, click }, label);
	const revoke = () => ask({
		title: 'Revoke key', id: key.id, action: 'Revoke', request: () => ({ method: 'DELETE', path: path('keys', key.id) }), said: 'Key revoked', done: () => table.load(),
		about: [h('b', h('bdi', key.name)), ' and its tokens hold nowhere any more within 5 s. This cannot be undone.', isOwn(key) && ' You are signed in with this key.'],
	});
	return h('tr',
		h('td', { title: `${key.name}\n${key.id}` }, h('div.cell',
			h('button.quiet.open', { 'aria-label': `Change ${key.name}`, click: () => changeKey({ table, key }) }, h('bdi', key.name)),
			h('span.id', key.id), isOwn(key) && h('span.label.you', 'you'))),
		h('td.role-name', key.role),
		[key.apps, key.users].map((names) => h('td.names', { title: names.join('\n') }, h('bdi', names.join(', ')))),
		h('td.when', timeOrNever(key.used)), h('td.when', timeOrNever(key.expires)),
		h('td.acts', button('Rotate…', () => changeKey({ table, like: key })), button('Revoke…', revoke)));
}

const text = (value = '') => wordInput({ value, required: true });
const names = (value) => h('textarea', { rows: 2, spellcheck: 'false', value: value.join('\n') });
const list = (lines) => `[${lines.filter(Boolean).map(quote).join(',')}]`;

function choice(options, chosen) {
	const element = h('select', options.map(([label, value]) => h('option', { value }, label)));
	element.value = chosen;
	return element;
}

const roleChoice = (chosen) => choice(ROLES.filter(hasRole).map((role) => [role, role]), chosen);

/** Changes a key, or makes one, which may take the place of one that it is `like`. */
function changeKey({ table, key, like, ttl = '' }) {
	const model = key ?? like ?? { name: '', role: 'agent', apps: [], users: who.users };
	const [name, role, apps, users] = [text(model.name), roleChoice(model.role), names(model.apps), names(model.users)];
	const same = key && [[`as it is: ${key.expires === undefined ? 'never' : exact(key.expires)}`, '']];
	const isForEver = like && like.expires === undefined;
	const expires = choice([...(same ?? []), ...KEY_TIMES], key ? ttl : isForEver ? 'null' : 90 * DAY);
	const wanted = () => ({ name: quote(name.value), role: quote(role.value), apps: list(apps.value.split('\n')), users: list(users.value.split('\n')) });
	const before = wanted();
	ask({
		title: key ? 'Change key' : like ? 'Rotate key' : 'New key',
		about: key && isOwn(key) ? 'You are signed in with this key.'
			: like && 'Makes a key like this one, which still holds: put the new one in place, then let this one expire.',
		fields: [field('Name', name), field('Role', role), field('Apps', apps, 'One a line; a trailing * is a prefix, * alone is all.'),
			field('Users', users, 'As apps. The role user is for exactly one.'), field('Expires', expires)],
		action: key ? 'Change' : 'Create',
		request: () => {
			if (!name.value) throw new Error('Name the key: what is it for?');
			if (!apps.value.trim()) throw new Error('Name the apps; * alone is all.');
			const fields = Object.entries(wanted()).filter(([field, value]) => !key || value !== before[field]);
			const isTime = expires.value !== '' && expires.value !== 'null';
			const body = compose({ ...Object.fromEntries(fields), ttl: isTime ? expires.value : undefined, expireTime: key && expires.value === 'null' ? 'null' : undefined });
			if (body === '{}') throw new Error('Nothing is changed yet.');
			return key ? { method: 'PATCH', path: path('keys', key.id), body } : { method: 'POST', path: '/v1/keys', body };
		},
		done: async (answer) => {
			if (key) toast('Key changed');
			else {
				const expire = () => { shown.close(); changeKey({ table, key: like, ttl: DAY }); };
				const shown = showSecret('New key', answer.json.string('key'), like && h('button', { click: expire }, 'Let the old key expire…'));
			}
			await table.load();
		},
	});
}

/** A dialog about the tokens of a user of an app. */
function askForUser({ fields = [], more = () => ({}), address, ...rest }) {
	const [app, user] = [text(), text()];
	ask({
		...rest,
		fields: [field('App', app), field('User', user), fields],
		request: () => {
			if (!app.value || !user.value) throw new Error('Name the app and the user.');
			return { method: 'POST', path: address, body: compose({ app: quote(app.value), user: quote(user.value), ...more() }) };
		},
	});
}

function issueToken() {
	const [role, ttl] = [roleChoice('user'), choice(TOKEN_TIMES, HOUR)];
	askForUser({
		title: 'Issue a token', action: 'Issue', address: '/v1/tokens',
		fields: [field('Role', role), field('Expires', ttl)],
		more: () => ({ role: quote(role.value), ttl: ttl.value }),
		done: ({ json }) => showSecret(`Token, until ${exact(json.number('expireTime'))}`, json.string('token')),
	});
}

function revokeTokens() {
	askForUser({
		title: 'Revoke the tokens of a user', action: 'Revoke', address: '/v1/tokens/revoke', danger: true,
		about: 'Those that were issued before now hold nowhere any more within 5 s.',
		said: 'Tokens revoked',
	});
}

function showSecret(title, secret, ...more) {
	const box = dialog(title,
		h('p', 'It is shown now and never again. Keep it like a password.'),
		h('pre.example.secret', { tabindex: 0, 'aria-label': 'The secret' }, secret),
		h('div.bar', copyButton('Copy', secret), h('span.space'), more, h('button.primary', { click: () => box.close() }, 'I have it')));
	return box;
}
