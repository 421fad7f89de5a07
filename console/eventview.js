// One event: its content as parts, its actions, and its text as it is stored.

import { copyButton, facts, fill, h } from './dom.js';
import { hueOf } from './event.js';
import { longer, tree } from './jsonview.js';
import { exact } from './times.js';

const VIEWS = ['content', 'actions', 'raw'];

export class EventView {
	constructor(changeView) {
		this.tabs = VIEWS.map((view) => h('button', {
			role: 'tab', id: `tab-${view}`, 'aria-controls': 'event-body', click: () => changeView(view),
			keydown: (key) => {
				const step = { ArrowRight: 1, ArrowLeft: -1 }[key.key];
				if (!step) return;
				const next = VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length];
				changeView(next);
				document.getElementById(`tab-${next}`).focus();
			},
		}, view[0].toUpperCase() + view.slice(1)));
		this.body = h('div.scroller', { id: 'event-body', role: 'tabpanel', tabindex: 0 });
		this.element = h('section.pane.middle', { 'aria-label': 'Event' },
			h('header', h('h2', 'Event'), h('div.tabs', { role: 'tablist', 'aria-label': 'Views of the event' }, this.tabs)), this.body);
	}

	draw(event, view, session) {
		// The same again is left as it is, with what is open and selected.
		if (this.event === event && this.view === view && this.session === session) return undefined;
		Object.assign(this, { event, view, session });
		this.tabs.forEach((tab, index) => {
			tab.setAttribute('aria-selected', VIEWS[index] === view);
			tab.tabIndex = VIEWS[index] === view ? 0 : -1;
		});
		this.body.setAttribute('aria-labelledby', `tab-${view}`);
		if (!event) return fill(this.body, beginning(session));
		const shown = { content, actions, raw }[view](event);
		return fill(this.body, head(event), shown);
	}
}

function beginning(session) {
	if (!session) return h('p.empty', 'Loading…');
	const from = session.string('forkedFrom', 'sessionId');
	return [
		h('h3', 'The session as it was created'),
		h('p.dim', exact(session.number('createTime'))),
		from && h('p', 'It is a fork of ', h('bdi', from), ' at revision ', session.at('forkedFrom', 'revision').text, '.'),
	];
}

function head(event) {
	return facts([
		['Author', h(`bdi.author.hue${hueOf(event.author)}`, event.author || '–')],
		['Time', exact(event.time)],
		event.invocation && ['Invocation', h('bdi', event.invocation)],
		event.branch && ['Branch', h('bdi', event.branch)],
		['Id', h('span.id', h('bdi', event.id), copyButton('Copy', event.id, { 'aria-label': 'Copy the event id' }))],
	]);
}

function content(event) {
	const parts = event.parts.map((part) => {
		if (part.kind === 'text') return h('p.text', longer(part.text));
		if (part.kind === 'thought') return h('div.thought', h('span.tag', 'Thought'), h('p.text', longer(part.text)));
		const title = { call: 'Call', result: 'Result', other: 'Part' }[part.kind];
		return h(`div.part.${part.kind}`, h('h3', h('span.tag', title), h('bdi', part.name)), part.value && tree(part.value));
	});
	if (event.error) parts.push(h('p.failure', event.error));
	return parts.length ? parts : h('p.empty', 'This event has no content.');
}

function actions(event) {
	const json = event.json.get('actions');
	return json ? tree(json) : h('p.empty', 'This event has no actions.');
}

function raw(event) {
	return [
		h('div.bar', copyButton('Copy as stored', event.json.text)),
		h('pre.raw', longer(event.json.text)),
		h('h3', 'In lines'),
		tree(event.json),
	];
}
