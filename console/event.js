// One event: what it says, cut out of its text; and its view: its content, its actions, and its text as it is stored.

import { outLinks } from './around.js';
import { copyButton, facts, fill, h } from './dom.js';
import { recordOf, usageOf } from './frameworks.js';
import { longer, tree } from './jsonview.js';
import { sessionAddress } from './router.js';
import { exact } from './times.js';
import { costText } from './turns.js';

const WORDS = 160;

/** Both spellings of a field below `content`. */
const either = (json, camel, snake) => json?.get(camel) ?? json?.get(snake);

/** `calls` has the names of calls by their ids, which some responses do not say; it takes those of this event. */
export function describe(json, calls = new Map()) {
	const text = (name) => json.string(name) ?? '';
	const actions = json.get('actions');
	const delta = actions?.get('stateDelta')?.names() ?? [];
	const removed = (actions?.get('stateOps')?.items ?? [])
		.filter((op) => op.string('op') === 'remove').map((op) => op.string('key'));
	const rewinds = actions?.string('rewindBeforeInvocationId');
	const record = recordOf(json);
	const parts = partsOf(json.get('content')).map((one) => part(one, calls));
	const event = {
		json,
		id: text('id'),
		author: text('author'),
		speaker: speaker(text('author'), json, parts),
		invocation: text('invocationId'),
		branch: text('branch'),
		sequence: json.number('sequence') ?? 0,
		time: json.number('timestamp') ?? 0,
		changed: [...new Set([...delta, ...removed])],
		files: (actions?.get('artifactDelta')?.members ?? []).map(({ key, value }) => [key.string(), value.text]), // name, version
		redacted: json.get('redacted'),
		rewinds,
		rewindsTo: json.number('customMetadata', 'rewindToRevision'),
		parts,
		record,
		isStep: parts.length === 0 && record?.isStep === true,
		usage: usageOf(json),
		error: [text('errorCode'), text('errorMessage')].filter(Boolean).join(': '),
		get line() { return line(event); },
	};
	return event;
}

/** Who speaks: of a checkpoint of LangGraph, which has another author, the user or the graph. */
function speaker(author, json, parts) {
	if (!author.startsWith('langgraph.')) return author;
	return json.string('content', 'role') === 'user' && parts.every((one) => one.kind === 'text') ? 'user' : 'langgraph';
}

/** Whether the event says a text somewhere, in whatever case. */
export function says(event, text) {
	const { id, author, invocation, branch, error, changed, files, parts } = event;
	const words = [id, author, invocation, branch, error, event.line.text, ...changed, ...files.flat(), ...parts.map((one) => one.text ?? `${one.name} ${one.value?.text}`)];
	return words.join('\n').toLowerCase().includes(text.toLowerCase());
}

/** The parts of a content; of one that has none, as what is no ADK's, what there is. */
function partsOf(content) {
	if (!content || content.text === 'null') return [];
	const parts = content.get('parts');
	if (parts?.kind === 'array') return parts.items;
	return content.kind === 'object' && content.names().every((name) => name === 'role') ? [] : [content];
}

/** { kind: text|thought|call|result|other, ... } */
function part(json, calls) {
	const said = json.string();
	if (said !== undefined) return { kind: 'text', text: said, json };
	const call = either(json, 'functionCall', 'function_call');
	const response = either(json, 'functionResponse', 'function_response');
	const text = json.string('text');
	if (call) {
		calls.set(call.string('id'), call.string('name'));
		return { kind: 'call', name: call.string('name') ?? '?', value: call.get('args'), json };
	}
	// Its call may be described after it.
	if (response) return { kind: 'result', get name() { return response.string('name') || calls.get(response.string('id')) || '?'; }, value: response.get('response'), json };
	if (text !== undefined) return { kind: json.get('thought')?.text === 'true' ? 'thought' : 'text', text, json };
	return { kind: 'other', name: json.names()[0] ?? '', value: json, json };
}

/** The line of the timeline: { kind, text }. */
function line(event) {
	if (event.error) return { kind: 'failure', text: event.error };
	if (event.rewinds !== undefined) {
		const to = event.rewindsTo === undefined ? `before ${event.rewinds}` : `to event ${event.rewindsTo}`;
		return { kind: 'rewind', text: `rewind ${to}` };
	}
	if (event.redacted) return { kind: 'empty', text: ['redacted', event.redacted.string('reason')].filter(Boolean).join(': ') };
	const first = ['call', 'text', 'result', 'thought', 'other'].map((kind) => event.parts.find((one) => one.kind === kind))
		.find(Boolean);
	if (!first) return { kind: 'empty', text: event.record?.text ?? ([...event.changed, ...event.files.map(([name]) => name)].join(', ') || 'no content') };
	if (first.kind === 'call') return { kind: 'call', text: `${first.name}(${brief(first.value)})` };
	if (first.kind === 'result') return { kind: 'result', text: `${first.name} → ${brief(first.value)}` };
	return { kind: first.kind, text: first.text === undefined ? first.name || brief(first.value) : shorten(first.text) };
}

/** Values of an object's members, as in a call. */
function brief(json) {
	if (!json) return '';
	if (json.kind !== 'object') return shorten(json.text);
	return shorten(json.members.map(({ value }) => value.text).join(', '));
}

function shorten(text) {
	const flat = text.slice(0, 2 * WORDS).replace(/\s+/g, ' ').trim();
	return flat.length > WORDS ? `${flat.slice(0, WORDS)}…` : flat;
}

const agents = [];

/** One of four colours: users have the first, agents the others as they are seen. */
function hueOf(author) {
	if (author === 'user') return 0;
	if (!agents.includes(author)) agents.push(author);
	return 1 + (agents.indexOf(author) % 3);
}

export const author = ({ speaker }) => h(`bdi.author.hue${hueOf(speaker)}`, speaker || '–');

/** Its number, who, and what. */
export function eventLine(event) {
	const { kind, text } = event.line;
	return [h('span.sequence', event.sequence), author(event), h(`bdi.line.${kind}`, text)];
}

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
		// The same is left as it is, with what is open and selected.
		if (this.event === event && this.view === view && this.session === session) return undefined;
		Object.assign(this, { event, view, session });
		this.tabs.forEach((tab, index) => {
			tab.setAttribute('aria-selected', VIEWS[index] === view);
			tab.tabIndex = VIEWS[index] === view ? 0 : -1;
		});
		this.body.setAttribute('aria-labelledby', `tab-${view}`);
		if (!event) return fill(this.body, beginning(session));
		const shown = { content, actions, raw }[view](event);
		return fill(this.body, head(event, session), shown);
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

function head(event, session) {
	const [app, user, id] = ['appName', 'userId', 'id'].map((name) => session?.string(name));
	const fileLink = ([file, version]) => h('div', h('a', { href: sessionAddress(app, user, id, { at: event.sequence, file, version }) }, h('bdi', file), ` version ${version}`));
	return facts([
		['Author', [author(event), event.speaker !== event.author && [' ', h('bdi.dim', event.author)]]],
		['Time', exact(event.time)],
		event.redacted && ['Redacted', [exact(event.redacted.number('time')), h('div', h('bdi', event.redacted.string('reason')))]],
		event.invocation && ['Invocation', [h('bdi', event.invocation), ' ', outLinks({ app, user, session: id, invocation: event.invocation, event: event.id })]],
		event.branch && ['Branch', h('bdi', event.branch)],
		event.usage && ['Tokens', [costText({ events: [event] }), event.usage.model && [', ', h('bdi', event.usage.model)]]],
		event.files.length > 0 && ['Files', event.files.map(fileLink)],
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
	if (!parts.length && event.record) return h('div.part', h('h3', h('span.tag', event.record.title), h('bdi', event.record.step ?? event.record.text)), tree(event.record.json));
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
