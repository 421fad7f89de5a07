// The page of an app: its sessions, its state, and its users.

import { hasApp, mayOperate, mayWrite, mayWriteApp, who } from './access.js';
import { path } from './api.js';
import { copyButton, h } from './dom.js';
import { createSession } from './newsession.js';
import { PagedTable } from './paged.js';
import { Policy } from './policy.js';
import { userAddress } from './router.js';
import { ScopeState } from './scopestate.js';
import { SessionList } from './sessions.js';
import { sides } from './sides.js';

export async function openApp({ root, names: [app], query, signal }) {
	const only = who.users.length === 1 && !who.users[0].endsWith('*') ? who.users[0] : '';
	const create = mayWrite() && hasApp(app) && (() => createSession({ app, suggestion: only }));
	const list = new SessionList({ app, owner: create && (only || 'ada'), signal });
	const state = new ScopeState({ path: path('apps', app, 'state'), title: 'App state', mayEdit: mayWriteApp(app), signal });
	const policy = mayOperate(app, 'policies') && who.users.includes('*') && new Policy(app, signal);
	const users = new PagedTable({
		label: 'Users', items: 'users', signal, columns: [{ title: 'Users' }],
		address: () => `${path('apps', app, 'users')}?pageSize=20`,
		row: (one) => {
			const user = one.string('userId');
			return h('tr', h('td', h('a.open', { href: userAddress(app, user), title: user }, h('bdi', user))));
		},
		empty: () => undefined,
	});
	await Promise.all([list.update(query), state.load(), users.load(), policy && policy.load()]);
	sides(root, {
		head: [h('h1', h('bdi', app)),
			copyButton('Copy as curl', () => list.curl(), { title: 'The request of this list (y)' }),
			create && h('button.primary', { title: 'Create a session (n)', click: create }, 'New session')],
		main: ['Sessions', list.element],
		side: ['App', state.element, users.element, policy && policy.element],
	});
	return {
		update: (changed) => list.update(changed),
		keys: () => ({ ...list.keys(), ...(create && { n: create }), ...(state.mayEdit && { e: () => state.edit() }) }),
	};
}
