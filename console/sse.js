// Server-sent events over fetch, as EventSource cannot send a credential; resumed after the last id.

import { authorization, Problem, urlOf } from './api.js';
import { read } from './json.js';

const SILENCE = 45_000; // the server says something every 15 s
const PAUSES = [500, 1000, 2000, 5000, 10_000];

/** Cuts a text stream into frames { event, data, id, retry }. */
class Frames {
	#rest = '';
	#frame = {};

	/** Frames that this piece of text completes. */
	push(text) {
		const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
		this.#rest = lines.pop();
		return lines.map((line) => this.#line(line)).filter((frame) => frame !== undefined);
	}

	#line(line) {
		if (line === '') {
			const frame = this.#frame;
			this.#frame = {};
			return frame.data === undefined && frame.retry === undefined ? undefined : frame;
		}
		const colon = line.indexOf(':');
		if (colon === 0) return undefined; // a comment
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
		if (name === 'data') this.#frame.data = this.#frame.data === undefined ? value : `${this.#frame.data}\n${value}`;
		else if (name === 'retry') this.#frame.retry = Number(value) || undefined;
		else if (name === 'event' || name === 'id') this.#frame[name] = value;
		return undefined;
	}
}

/**
 * Follows an address until the signal. onStatus hears 'live', 'waiting' or, when it is of no use to go on, a Problem.
 */
export async function follow({ address, position, signal, onFrame, onStatus }) {
	let last = position;
	let failures = 0;
	while (!signal.aborted) {
		let pause = PAUSES[Math.min(failures, PAUSES.length - 1)];
		try {
			await once(address, last, signal, (frame) => {
				failures = 0;
				if (frame.id !== undefined) last = frame.id;
				if (frame.retry !== undefined) pause = frame.retry;
				if (frame.event) onFrame(frame);
			}, () => onStatus('live'));
		} catch (error) {
			if (signal.aborted) return;
			if (error instanceof Problem && error.status < 500 && error.status !== 429) return onStatus(error);
			failures += 1;
		}
		onStatus('waiting');
		await rest(pause * (0.75 + Math.random() / 2), signal);
	}
}

async function once(address, last, signal, onFrame, onOpen) {
	const silence = new AbortController();
	let timer;
	const heard = () => {
		clearTimeout(timer);
		timer = setTimeout(() => silence.abort(), SILENCE);
	};
	heard();
	try {
		const headers = { ...authorization(), Accept: 'text/event-stream' };
		if (last) headers['Last-Event-ID'] = last;
		const answer = await fetch(urlOf(address), { headers, signal: AbortSignal.any([signal, silence.signal]), cache: 'no-store' });
		if (!answer.ok) throw new Problem(answer.status, read(await answer.text()), 'The stream was refused.');
		onOpen();
		const frames = new Frames();
		const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
		for (;;) {
			const { value, done } = await text.read();
			if (done) return;
			heard();
			frames.push(value).forEach(onFrame);
		}
	} finally {
		clearTimeout(timer);
	}
}

/** Waits, at most until the signal. */
export function rest(milliseconds, signal) {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, milliseconds);
		signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
	});
}
