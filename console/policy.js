// The policy of an app: what the sweep removes.

import { get, path, send } from './api.js';
import { field, fill, h } from './dom.js';
import { read } from './json.js';
import { tree } from './jsonview.js';
import { ask, curlButton, problemText } from './request.js';

const EXAMPLE = '{"sessions":{"idleTtl":"30d"},"events":{"keepLast":50},"limits":{"sessionsPerUser":99}}';

export class Policy {
	constructor(app, signal) {
		Object.assign(this, { path: path('apps', app, 'policy'), signal });
		this.element = h('section.scope', { 'aria-label': 'Policy' });
	}

	async load() {
		const { json, tag } = await get(this.path, this.signal);
		fill(this.element, h('h3', 'Policy'),
			json.text === '{}' ? h('p.empty', 'Nothing is removed unless asked.') : tree(json),
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
				fill(outcome, `It would remove ${count('wouldExpire', 'sessions')} sessions, and ${count('wouldTrim', 'events')} events of ${count('wouldTrim', 'sessions')} others.`);
			} catch (problem) {
				fill(outcome, problem.status ? problemText(problem) : problem.message);
			}
		};
		ask({
			title: 'Change policy', action: 'Set', danger: true, request,
			about: 'What it names is removed for good, from the next sweep on.',
			fields: [field('Policy, as JSON', policy, ['For example ', h('code', EXAMPLE)]), h('button', { click: dryRun }, 'Dry run'), outcome],
			said: 'Policy set', done: () => this.load(),
		});
	}
}
