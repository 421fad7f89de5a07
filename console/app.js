// The page of an app.

import { hasApp, mayOperate, mayWrite, mayWriteApp, who } from './access.js';
import { get, path, send } from './api.js';
import { copyButton, field, fill, h, sides } from './dom.js';
import { read } from './json.js';
import { tree } from './jsonview.js';
import { PagedTable } from './paged.js';
import { ask, curlButton, problemText } from './request.js';
import { userAddress } from './router.js';
import { ScopeState } from './scopestate.js';
import { createSession, SessionList } from './sessions.js';

const EXAMPLE = '{"sessions":{"idleTtl":"30d"},"events":{"keepLast":50},"limits":{"sessionsPerUser":99},"search":{"index":true}}';

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

/** What the sweep removes, what is refused, and whether there is a search. */
class Policy {
	constructor(app, signal) {
		Object.assign(this, { path: path('apps', app, 'policy'), signal });
		this.element = h('section.scope', { 'aria-label': 'Policy' });
	}

	async load() {
		const { json, tag } = await get(this.path, this.signal);
		fill(this.element, h('h3', 'Policy'),
			json.text === '{}' ? h('p.empty', 'Nothing is removed unless asked. Search is off.') : tree(json),
			h('div.bar', h('button', { click: () => this.#change(json.text, tag) }, 'Change policy…'), curlButton(this.path)));
	}

	#change(text, tag) {
		const policy = h('textarea', { rows: 4, spellcheck: 'false' }, text);
		const outcome = h('p', { role: 'status' });
		const request = () => ({ method: 'PUT', path: this.path, headers: { 'If-Match': tag }, body: read(policy.value).text });
		const dryRun = async () => {
			try {
				const { json } = await send({ ...request(), path: `${this.path}?dryRun=true` });
				const count = (...names) => json.at(...names).text;
				const removed = [`${count('wouldExpire', 'sessions')} sessions`,
					`${count('wouldTrim', 'events')} events of ${count('wouldTrim', 'sessions')} others`];
				if (json.get('wouldRemove')) removed.push(`${count('wouldRemove', 'artifactVersions')} versions of files`);
				fill(outcome, `It would remove ${removed.join(', ')}.`);
			} catch (problem) {
				fill(outcome, problem.status ? problemText(problem) : problem.message);
			}
		};
		ask({
			title: 'Change policy', action: 'Set', danger: true, request,
			about: 'What it names is removed for good, from the next sweep on. Limits and search remove nothing.',
			fields: [field('Policy, as JSON', policy, ['For example ', h('code', EXAMPLE)]), h('button', { click: dryRun }, 'Dry run'), outcome],
			said: 'Policy set', done: () => this.load(),
		});
	}
}
