// Requests to /v1: with the credential of this tab, problem documents as errors, and as curl commands.

import { read } from './json.js';

const SLOT = 'sessiond.credential';

export const credential = {
	get: () => sessionStorage.getItem(SLOT) ?? '',
	set: (text) => sessionStorage.setItem(SLOT, text),
	clear: () => sessionStorage.removeItem(SLOT),
};

/** Where the server is, with a slash at its end: a proxy may have put it below a path. */
const BASE = new URL('..', import.meta.url).href;

/** The URL of a path of the server. */
export const urlOf = (address) => BASE + address.replace(/^\//, '');

/** An answer that is no success, or none at all (status 0). */
export class Problem extends Error {
	constructor(status, body, fallback) {
		const word = (name) => body?.string(name);
		super(word('detail') ?? word('title') ?? fallback);
		this.status = status;
		this.code = word('code') ?? '';
		this.requestId = word('requestId');
		this.body = body;
	}

	/** The same request would fail again. */
	get isFinal() { return this.status >= 400 && this.status < 500 && this.status !== 429; }
}

let onUnauthenticated = () => {};

/** What happens when the server asks for a credential. */
export function whenUnauthenticated(listener) {
	onUnauthenticated = listener;
}

/** The address of a path of names, each one segment. */
export function path(...names) {
	return `/v1/${names.map(encodeURIComponent).join('/')}`;
}

export function sessionPath(app, user, session) {
	return path('apps', app, 'users', user, 'sessions', session);
}

/** The example of a first session, as a command. */
export const firstSession = (app, user) => curl({ method: 'POST', path: path('apps', app, 'users', user, 'sessions'), body: '{"sessionId":"s1","state":{"topic":"billing"}}' });

/** Adds what is set to a path. */
export function withQuery(address, query) {
	const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '' && value !== null);
	return set.length ? `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams(set)}` : address;
}

export function authorization() {
	return credential.get() ? { Authorization: `Bearer ${credential.get()}` } : {};
}

/**
 * Sends { method, path, body?, headers?, signal? } and gives { status, text, json, tag }. `body` is JSON text, or a File.
 * `take(answer)` takes the body of a success in place of its text, as `taken`. Throws a Problem.
 */
export async function send({ method = 'GET', path: address, body, headers = {}, signal, take }) {
	const content = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}; // a File has a type of its own
	const used = credential.get();
	let answer;
	let text;
	try {
		answer = await fetch(urlOf(address), { method, body, signal, headers: { ...authorization(), ...content, ...headers } });
		if (take && answer.ok) return { taken: await take(answer) };
		text = await answer.text();
	} catch (error) {
		if (error.name === 'AbortError') throw error;
		throw new Problem(0, undefined, 'The server does not answer.');
	}
	const json = (answer.headers.get('content-type') ?? '').includes('json') && text ? read(text) : undefined;
	if (answer.ok) return { status: answer.status, text, json, tag: answer.headers.get('etag') };
	const problem = new Problem(answer.status, json, `${answer.status} ${answer.statusText}`);
	// Of several with a credential that is refused, the first counts.
	if (answer.status === 401 && used === credential.get()) onUnauthenticated(problem);
	throw problem;
}

export const get = (address, signal) => send({ path: address, signal });

/** The request as a command. The credential is a variable in it. */
export function curl({ method = 'GET', path: address, body, headers = {} }) {
	const parts = [method === 'GET' ? 'curl' : `curl -X ${method}`];
	if (credential.get()) parts.push('-H "Authorization: Bearer $SESSIOND_TOKEN"');
	for (const [name, value] of Object.entries(headers)) parts.push(`-H ${shell(`${name}: ${value}`)}`);
	if (body !== undefined) {
		const [type, data] = body instanceof File ? [body.type, `-T ${shell(body.name)}`] : ['application/json', `-d ${shell(body)}`];
		parts.push(`-H ${shell(`Content-Type: ${type}`)}`, data);
	}
	parts.push(shell(urlOf(address)));
	return parts.join(parts.length > 2 ? ' \\\n  ' : ' ');
}

function shell(text) {
	return /^[\w./:=@%,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
