// Erasures of users, with their receipts.

import { curl, path, send } from './api.js';
import { copyButton, example, field, fill, h, wordInput } from './dom.js';
import { compose, quote } from './json.js';
import { PagedTable } from './paged.js';
import { ask, curlButton, newKey } from './request.js';
import { go, href } from './router.js';
import { time } from './times.js';

const ADDRESS = '/v1/erasures';

export async function openErasures({ root, signal }) {
	const table = new PagedTable({
		label: 'Erasures', items: 'erasures', signal,
		columns: [{ title: 'Erasure' }, { title: 'App' }, { title: 'Reference' }, { title: 'Asked', look: 'when' }, { title: 'Done', look: 'when' }, { title: 'Receipt' }],
		address: () => ADDRESS, row, empty: () => h('div.empty', h('p', 'Nobody was erased. The page of a user erases; a program does it like this:'),
			example(curl({ method: 'POST', path: '/v1/apps/shop/users/ada/erasure', body: '{"requestId":"ticket-7"}' }))),
	});
	await table.load();
	fill(root, h('div.plain',
		h('header.bar', h('h1', 'Erasures'), curlButton(ADDRESS), h('button', { click: () => table.load() }, 'Check again')),
		table.element));
	return { keys: () => table.keys() };
}

function row(json) {
	const text = (name) => json.string(name) ?? '';
	const when = (name) => json.get(name) && time(json.number(name));
	const receipt = async () => (await send({ path: path('erasures', text('id')) })).json.get('receipt').text;
	return h('tr', h('td', h('bdi', text('id'))), h('td', h('bdi', text('appName'))), h('td', h('bdi', text('reference'))),
		h('td.when', when('requestTime')), h('td.when', when('doneTime') ?? 'running'),
		h('td', json.get('doneTime') && copyButton('Copy receipt', receipt)));
}

export function eraseUser(app, user) {
	const [reference, block, requestId] = [wordInput(), h('input', { type: 'checkbox' }), quote(newKey())];
	ask({
		title: 'Erase user', id: user, action: 'Erase', said: 'User erased', done: () => go(href(['erasures'])),
		about: 'Sessions, user state and tokens go at once and for good. App state stays. A receipt proves it.',
		fields: [field('Reference', reference, 'For the receipt; no name.'), field('Refuse new sessions', block)],
		request: () => ({
			method: 'POST', path: path('apps', app, 'users', user, 'erasure'),
			body: compose({ requestId, reference: reference.value ? quote(reference.value) : undefined, block: block.checked ? 'true' : undefined }),
		}),
	});
}
