// The page of a user of an app.

import { hasApp, hasUser, mayOperate, mayWrite } from './access.js';
import { path, sessionPath } from './api.js';
import { copyButton, h, sides } from './dom.js';
import { eraseUser } from './erasures.js';
import { Files } from './files.js';
import { rowKeys } from './paged.js';
import { ask, exportButton } from './request.js';
import { appAddress } from './router.js';
import { ScopeState } from './scopestate.js';
import { UserSearch } from './search.js';
import { createSession, SessionList } from './sessions.js';

export async function openUser({ root, names: [app, user], query, signal }) {
	const mayEdit = mayWrite() && hasApp(app) && hasUser(user);
	const remove = (id) => ask({
		title: 'Delete session', id, action: 'Delete', request: () => ({ method: 'DELETE', path: sessionPath(app, user, id) }),
		about: 'Its events and its own state go, for good. App and user state stay.',
		said: 'Session deleted', done: () => list.table.load(),
	});
	const search = new UserSearch({ app, user, signal, note: () => list.note() });
	const list = new SessionList({ app, user, owner: mayEdit && user, signal, remove: mayEdit && remove, beside: () => ({ search: search.words }) });
	const lists = h('div.lists', search.element, list.element);
	const update = (changed) => Promise.all([search.update(changed), list.update(changed)]);
	const state = new ScopeState({ path: path('apps', app, 'users', user, 'state'), title: 'User state', mayEdit, signal });
	const files = new Files({ of: path('apps', app, 'users', user), title: 'User files', mayEdit, signal });
	const create = mayEdit && (() => createSession({ app, user }));
	await Promise.all([update(query), state.load(), files.show()]);
	sides(root, {
		head: [
			h('nav.crumbs', { 'aria-label': 'Where this is' },
				h('a', { href: appAddress(app) }, h('bdi', app)), h('span.slash', '/'), h('h1', h('bdi', user))),
			copyButton('Copy as curl', () => list.curl(), { title: 'The request of this list (y)' }),
			hasUser(user) && mayOperate(app, 'export') && exportButton(path('apps', app, 'users', user), user),
			mayEdit && mayOperate(app, 'erasure') && h('button', { click: () => eraseUser(app, user) }, 'Erase…'),
			create && h('button.primary', { title: 'Create a session (n)', click: create }, 'New session'),
		],
		main: ['Sessions', lists],
		side: ['User state', state.element, files.element],
	});
	return {
		update,
		keys: () => ({ ...list.keys(), ...rowKeys(lists), ...(create && { n: create, e: () => state.edit() }) }),
	};
}
