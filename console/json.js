// JSON as it was written: a tree of slices of the text.

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
	get text() { return this.source.slice(this.start, this.end); }
	/** Members or items. */
	get elements() { return this.kind === 'object' ? this.members : this.items; }

	/** The member of that name. */
	get(name) {
		return this.members.find((member) => member.key.string() === name)?.value;
	}

	/** The member at the end of a path of names, if all are there. */
	at(...names) {
		return names.reduce((value, name) => value?.get(name), this);
	}

	/** What a string says, here or at the end of a path; undefined for any other value. */
	string(...names) {
		const value = this.at(...names);
		return value?.kind === 'string' ? JSON.parse(value.text) : undefined;
	}

	/** As with strings; of the console's own numbers (a sequence, a time). */
	number(...names) {
		const value = this.at(...names);
		return value?.kind === 'number' ? Number(value.text) : undefined;
	}

	/** The texts of a list that has this name. */
	strings(name) {
		return this.get(name).items.map((one) => one.string());
	}

	names() {
		return this.members.map((member) => member.key.string());
	}
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPECIAL = /["\\\u0000-\u001f]/g; // where a run of plain characters ends
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERAL = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;
const DEEPEST = 200;

/** Reads a text that is one JSON value. Throws an Error that names the place. */
export function read(source) {
	let at = 0;
	const wrong = (what, place = at) => new Error(`${what} at character ${place + 1}`);

	function match(pattern) {
		pattern.lastIndex = at;
		const found = pattern.exec(source);
		if (found) at = pattern.lastIndex;
		return found !== null;
	}

	function token(kind, pattern) {
		const value = new Json(kind, source, at);
		if (!match(pattern)) throw wrong(at < source.length ? 'This is no JSON' : 'The JSON ends too early');
		value.end = at;
		return value;
	}

	/** By its runs, because one pattern for the whole overflows its stack on some megabytes. */
	function string() {
		const value = new Json('string', source, at);
		if (source[at] !== '"') throw wrong('A name in quotes is missing');
		at += 1;
		for (;;) {
			SPECIAL.lastIndex = at;
			if (!SPECIAL.test(source)) throw wrong('The JSON ends too early', source.length);
			at = SPECIAL.lastIndex - 1;
			if (source[at] === '"') break;
			if (!match(ESCAPE)) throw wrong('This is no JSON');
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
			if (source[at] !== ',') throw wrong(`A comma or ${close} is missing`);
			at += 1;
			match(SPACE);
		}
	}

	function value(depth) {
		if (depth > DEEPEST) throw wrong('This is nested too deeply');
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
				if (source[at] !== ':') throw wrong('A colon is missing');
				at += 1;
				whole.members.push({ key, value: value(depth + 1) });
			});
		}
		whole.end = at;
		return whole;
	}

	const whole = value(0);
	match(SPACE);
	if (at < source.length) throw wrong('There is more after the value');
	return whole;
}

/** A string as JSON. */
export const quote = (text) => JSON.stringify(text);

/** An object from names and JSON texts; undefined ones are left out. */
export function compose(members) {
	const written = Object.entries(members).filter(([, text]) => text !== undefined);
	return `{${written.map(([name, text]) => `${quote(name)}:${text}`).join(',')}}`;
}
