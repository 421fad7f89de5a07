// What a stored event says, cut out of its text: who, when, a line to read, and the keys that it changes.

const WORDS = 160;

/** Both spellings of a field below `content`, which the server leaves as it was written. */
const either = (json, camel, snake) => json?.get(camel) ?? json?.get(snake);

export function describe(json) {
	const text = (name) => json.string(name) ?? '';
	const actions = json.get('actions');
	const delta = actions?.get('stateDelta')?.names() ?? [];
	const removed = (actions?.get('stateOps')?.items ?? [])
		.filter((op) => op.string('op') === 'remove').map((op) => op.string('key'));
	const rewinds = actions?.string('rewindBeforeInvocationId');
	const event = {
		json,
		id: text('id'),
		author: text('author'),
		invocation: text('invocationId'),
		branch: text('branch'),
		sequence: json.number('sequence') ?? 0,
		time: json.number('timestamp') ?? 0,
		changed: [...new Set([...delta, ...removed])],
		rewinds,
		rewindsTo: json.number('customMetadata', 'rewindToRevision'),
		parts: (json.at('content', 'parts')?.items ?? []).map(part),
		error: [text('errorCode'), text('errorMessage')].filter(Boolean).join(': '),
	};
	event.line = line(event);
	return event;
}

/** Whether the event says a text somewhere, in whatever case. */
export function says(event, text) {
	const { id, author, invocation, branch, error, changed, parts } = event;
	const words = [id, author, invocation, branch, error, event.line.text, ...changed, ...parts.map((one) => one.text ?? `${one.name} ${one.value?.text}`)];
	return words.join('\n').toLowerCase().includes(text.toLowerCase());
}

/** { kind: text|thought|call|result|other, ... } */
function part(json) {
	const call = either(json, 'functionCall', 'function_call');
	const response = either(json, 'functionResponse', 'function_response');
	const text = json.string('text');
	if (call) return { kind: 'call', name: call.string('name') ?? '?', value: call.get('args'), json };
	if (response) return { kind: 'result', name: response.string('name') ?? '?', value: response.get('response'), json };
	if (text !== undefined) return { kind: json.get('thought')?.isTrue() ? 'thought' : 'text', text, json };
	return { kind: 'other', name: json.names()[0] ?? '', value: json, json };
}

/** The line of the timeline: { kind, text }. */
function line(event) {
	if (event.error) return { kind: 'failure', text: event.error };
	if (event.rewinds !== undefined) {
		const to = event.rewindsTo === undefined ? `before ${event.rewinds}` : `to event ${event.rewindsTo}`;
		return { kind: 'rewind', text: `rewind ${to}` };
	}
	const first = ['call', 'text', 'result', 'thought', 'other'].map((kind) => event.parts.find((one) => one.kind === kind))
		.find(Boolean);
	if (!first) return { kind: 'empty', text: event.changed.length ? event.changed.join(', ') : 'no content' };
	if (first.kind === 'call') return { kind: 'call', text: `${first.name}(${brief(first.value)})` };
	if (first.kind === 'result') return { kind: 'result', text: `${first.name} → ${brief(first.value)}` };
	return { kind: first.kind, text: shorten(first.text ?? first.name) };
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

/** One of four colours: users have the first, agents the others in the order in which they are seen. */
export function hueOf(author) {
	if (author === 'user') return 0;
	if (!agents.includes(author)) agents.push(author);
	return 1 + (agents.indexOf(author) % 3);
}
