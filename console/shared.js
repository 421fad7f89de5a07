// New events for all tabs. A browser has six connections to a host, so it reads two streams at most: a lock of SLOTS each.
// Tabs at one address with one credential share a reader. A reader without a slot, and a tab without Web Locks (no secure
// context), polls. A hidden tab leaves its turn to others.

import { credential, get, Problem, send, withQuery } from './api.js';
import { follow, rest } from './sse.js';

const SLOTS = ['sessiond stream 1', 'sessiond stream 2'];
const EVERY = 2500;
const REFRESH = 5000;

async function nameOf(address) {
	const bytes = new TextEncoder().encode(`${credential.get()}\n${address}`);
	const digest = await crypto.subtle.digest('SHA-256', bytes);
	return `sessiond ${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Runs the action with a slot, or gives false. */
export async function withSlot(action) {
	for (const slot of SLOTS) {
		if (await navigator.locks.request(slot, { ifAvailable: true }, async (lock) => lock && (await action(), true))) return true;
	}
	return false;
}

/** Follows the watch of a session like sse.follow. `position()` is the id to go on from. */
export async function followShared({ address, position, signal, onFrame, onStatus }) {
	const session = address.replace(/\/watch\?.*/, '');
	const isShared = navigator.locks && crypto.subtle;
	const name = isShared && await nameOf(address);
	const channel = isShared && new BroadcastChannel(name);
	if (signal.aborted) return channel?.close();
	const tell = (message) => { if (!signal.aborted) channel?.postMessage(message); };
	const toAll = {
		onFrame(frame) { onFrame(frame); tell({ frame }); },
		onStatus(status) { onStatus(status); if (typeof status === 'string') tell({ status }); },
	};
	channel?.addEventListener('message', ({ data }) => (data.frame ? onFrame(data.frame) : onStatus(data.status)));
	signal.addEventListener('abort', () => channel?.close());

	let tag;
	/** What is new. Of very many events the last ones will do: the page loads the others. */
	const poll = async (turn) => {
		try {
			const { json } = await get(withQuery(`${session}/events`, { afterSequence: parseInt(position(), 10), order: 'desc', pageSize: 100 }), turn);
			for (const event of json.get('events').items.reverse()) {
				toAll.onFrame({ event: 'event', data: event.text, id: event.get('sequence').text });
			}
			try {
				const answer = await send({ path: `${session}/state`, headers: tag ? { 'If-None-Match': tag } : {}, signal: turn });
				if (tag) toAll.onFrame({ event: 'state' });
				tag = answer.tag;
			} catch (error) {
				if (error.status !== 304) throw error;
			}
			toAll.onStatus('live');
		} catch (error) {
			if (turn.aborted) return;
			if (!(error instanceof Problem)) throw error;
			toAll.onStatus(error.isFinal ? error : 'waiting');
		}
	};

	/** Until the turn ends. */
	const lead = async (turn) => {
		while (!turn.aborted) {
			const hadSlot = isShared && await withSlot(() => follow({ address, position: position(), signal: turn, ...toAll }));
			if (!hadSlot && !turn.aborted) await poll(turn);
			await rest(EVERY, turn);
		}
	};

	while (!signal.aborted) {
		await visible(signal);
		const turn = new AbortController();
		const stop = () => { if (signal.aborted || document.hidden) turn.abort(); };
		document.addEventListener('visibilitychange', stop);
		signal.addEventListener('abort', stop);
		stop();
		try {
			// Whoever waits for the turn is fed by the tab that has it, but for what came before it listened.
			await poll(turn.signal);
			if (isShared) await navigator.locks.request(name, { signal: turn.signal }, () => lead(turn.signal));
			else await lead(turn.signal);
		} catch (error) {
			if (error.name !== 'AbortError') throw error;
		} finally {
			document.removeEventListener('visibilitychange', stop);
			signal.removeEventListener('abort', stop);
		}
	}
}

/** Does it now, and again some seconds after it was done, while the tab is seen, until the signal. That it fails is not told. */
export async function refresh(action, signal) {
	while (!signal.aborted) {
		await visible(signal);
		await action().catch(() => {});
		await rest(REFRESH, signal);
	}
}

/** Until the tab is seen, or the signal. */
export function visible(signal) {
	if (!document.hidden || signal.aborted) return undefined;
	return new Promise((resolve) => {
		document.addEventListener('visibilitychange', resolve, { once: true });
		signal.addEventListener('abort', resolve, { once: true });
	});
}
