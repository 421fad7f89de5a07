// The state that an app or a user shares among sessions.

import { curl, get } from './api.js';
import { copyButton, example, fill, h } from './dom.js';
import { editState } from './edit.js';
import { inline, tree } from './jsonview.js';
import { complain, curlButton } from './request.js';

export class ScopeState {
	constructor({ path, title, mayEdit, signal }) {
		Object.assign(this, { path, title, mayEdit, signal });
		this.element = h('section.scope', { 'aria-label': title });
	}

	async load() {
		const { json, text, tag } = await get(this.path, this.signal);
		const change = { method: 'PATCH', path: this.path, body: '{"stateDelta":{"currency":"EUR"}}' };
		const isEmpty = json.members.length === 0;
		fill(this.element,
			h('h3', this.title, h('span.count', json.members.length),
				h('span.count.end', { title: 'Grows by one with each change' }, `revision ${tag.replaceAll('"', '')}`)),
			h('ul.keys', json.members.map((member) => this.#entry(member))),
			isEmpty && h('div.empty', h('p', 'No state yet.'), this.mayEdit && example(curl(change))),
			h('div.bar',
				this.mayEdit && h('button', { title: 'Change state by operators (e)', click: () => this.edit() }, 'Edit state…'),
				!isEmpty && copyButton('Copy as stored', text),
				curlButton(this.path)));
	}

	#entry({ key, value }) {
		const name = key.string();
		const details = h('details.entry', h('summary', { title: name }, h('bdi.name', name), h('span.value', inline(value))));
		const show = () => details.append(h('div.opened', tree(value), h('div.bar', copyButton('Copy value', value.text),
			this.mayEdit && h('button.quiet', { click: () => this.edit(name) }, 'Edit…'))));
		details.addEventListener('toggle', show, { once: true });
		return h('li', details);
	}

	edit(key) {
		editState({ path: this.path, title: `Edit ${this.title.toLowerCase()}`, key, signal: this.signal, done: () => this.load() }).catch(complain);
	}
}
