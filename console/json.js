// JSON as it was written: a tree of slices of the text. Only single strings and small integers become JavaScript values.

class Json {
	constructor(kind, source, start) {
		this.kind = kind; // object, array, string, number, literal
		this.source = source;
		this.start = start;
		this.end = start;
		this.members = []; // of an object: { key: Json, value: Json }
		this.items = []; // of an array: Json
	}

	/** The exact text of this value. */
	get text() {
		return this.source.slice(this.start, this.end);
	}

	/** The member of that name. */
	get(name) {
		return this.members.find((member) => member.key.string() === name)?.value;
	}

	/** The member at the end of a path of names, if all are there. */
	at(...names) {
		return names.reduce((value, name) => value?.get(name), this);
	}

	/** What a string says, this one or that at the end of a path; undefined for any other value. */
	string(...names) {
		const value = this.at(...names);
		return value?.kind === 'string' ? unescape(value.text.slice(1, -1)) : undefined;
	}

	/** A number of the console's own (a sequence, a time), as with strings. */
	number(...names) {
		const value = this.at(...names);
		return value?.kind === 'number' ? Number(value.text) : undefined;
	}

	/** The texts of a list that has this name. */
	strings(name) {
		return this.get(name).items.map((one) => one.string());
	}

	isTrue() {
		return this.kind === 'literal' && this.text === 'true';
	}

	/** Names of an object's members, in their order. */
	names() {
		return this.members.map((member) => member.key.string());
	}
}

const ESCAPES = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function unescape(text) {
	if (!text.includes('\\')) return text;
	return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, hex, one) =>
		hex ? String.fromCharCode(parseInt(hex, 16)) : (ESCAPES[one] ?? one));
}

class JsonError extends Error {
	constructor(message, offset) {
		super(`${message} at character ${offset + 1}`);
		this.offset = offset;
	}
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPECIAL = /["\\\u0000-\u001f]/g; // where a run of plain characters ends
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERAL = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;
const DEEPEST = 200;

/** Reads a text that is one JSON value. Throws a JsonError that names the place. */
export function read(source) {
	let at = 0;

	function match(pattern) {
		pattern.lastIndex = at;
		const found = pattern.exec(source);
		if (found) at = pattern.lastIndex;
		return found !== null;
	}

	function token(kind, pattern) {
		const value = new Json(kind, source, at);
		if (!match(pattern)) throw new JsonError(at < source.length ? 'This is no JSON' : 'The JSON ends too early', at);
		value.end = at;
		return value;
	}

	/** By its runs, because one pattern for the whole overflows its stack on some megabytes. */
	function string() {
		const value = new Json('string', source, at);
		if (source[at] !== '"') throw new JsonError('A name in quotes is missing', at);
		at += 1;
		for (;;) {
			SPECIAL.lastIndex = at;
			if (!SPECIAL.test(source)) throw new JsonError('The JSON ends too early', source.length);
			at = SPECIAL.lastIndex - 1;
			if (source[at] === '"') break;
			if (!match(ESCAPE)) throw new JsonError('This is no JSON', at);
		}
		value.end = at += 1;
		return value;
	}

	/** Elements between brackets, separated by commas. */
	function list(close, element) {
		at += 1;
		match(SPACE);
		if (source[at] === close) return void (at += 1);
		for (;;) {
			element();
			match(SPACE);
			if (source[at] === close) return void (at += 1);
			if (source[at] !== ',') throw new JsonError(`A comma or ${close} is missing`, at);
			at += 1;
			match(SPACE);
		}
	}

	function value(depth) {
		if (depth > DEEPEST) throw new JsonError('This is nested too deeply', at);
		match(SPACE);
		const first = source[at];
		if (first === '"') return string();
		if (first === 't' || first === 'f' || first === 'n') return token('literal', LITERAL);
		if (first !== '{' && first !== '[') return token('number', NUMBER);
		const whole = new Json(first === '{' ? 'object' : 'array', source, at);
		if (first === '[') {
			list(']', () => whole.items.push(value(depth + 1)));
		} else {
			list('}', () => {
				const key = string();
				match(SPACE);
				if (source[at] !== ':') throw new JsonError('A colon is missing', at);
				at += 1;
				whole.members.push({ key, value: value(depth + 1) });
			});
		}
		whole.end = at;
		return whole;
	}

	const whole = value(0);
	match(SPACE);
	if (at < source.length) throw new JsonError('There is more after the value', at);
	return whole;
}

/** A string as JSON. */
export const quote = (text) => JSON.stringify(text);

/** An object from names and JSON texts; undefined ones are left out. */
export function compose(members) {
	const written = Object.entries(members).filter(([, text]) => text !== undefined);
	return `{${written.map(([name, text]) => `${quote(name)}:${text}`).join(',')}}`;
}
