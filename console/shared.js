// One stream for all tabs that look at the same address with the same credential: whoever holds the lock reads it and tells
// the others. A hidden tab gives its place up, so that streams never use up the six connections of a browser.

import { credential } from './api.js';
import { follow } from './sse.js';

async function nameOf(address) {
  const bytes = new TextEncoder().encode(`${credential.get()}\n${address}`);
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return `sessiond ${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Follows like sse.follow. `position` is asked for at each start: the id to go on from. */
export async function followShared({ address, position, signal, onFrame, onStatus }) {
  if (!navigator.locks || !crypto.subtle) {
    return follow({ address, position: position(), signal, onFrame, onStatus }); // no secure context: one stream a tab
  }
  const name = await nameOf(address);
  const channel = new BroadcastChannel(name);
  channel.addEventListener('message', ({ data }) => {
    if (data.frame) onFrame(data.frame);
    else onStatus(data.status);
  });
  signal.addEventListener('abort', () => channel.close(), { once: true });

  const lead = async (turn) => {
    const tell = (message) => { if (!signal.aborted) channel.postMessage(message); };
    await follow({
      address, position: position(), signal: turn,
      onFrame(frame) { onFrame(frame); tell({ frame }); },
      onStatus(status) { onStatus(status); if (typeof status === 'string') tell({ status }); },
    });
    // A stream that ended for good keeps the lock: another tab would fare no better.
    await new Promise((resolve) => { turn.addEventListener('abort', resolve, { once: true }); if (turn.aborted) resolve(); });
  };

  while (!signal.aborted) {
    await visible(signal);
    const turn = new AbortController();
    const stop = () => { if (signal.aborted || document.hidden) turn.abort(); };
    document.addEventListener('visibilitychange', stop);
    signal.addEventListener('abort', stop);
    stop();
    try {
      // Whoever waits for the lock is fed by the tab that holds it.
      onStatus('live');
      await navigator.locks.request(name, { signal: turn.signal }, () => lead(turn.signal));
    } catch (error) {
      if (error.name !== 'AbortError') throw error;
    } finally {
      document.removeEventListener('visibilitychange', stop);
      signal.removeEventListener('abort', stop);
    }
  }
}

function visible(signal) {
  if (!document.hidden || signal.aborted) return undefined;
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true });
    signal.addEventListener('abort', resolve, { once: true });
  });
}
