// The address after # is the whole view: #/app/shop/user/ada/session/s1?at=41

import { withQuery } from './api.js';

/** { names, query } of an address, or undefined if it cannot be decoded. */
export function parse(hash) {
	const [address, query = ''] = hash.replace(/^#/, '').split('?', 2);
	try {
		const names = address.split('/').filter((part) => part !== '').map(decodeURIComponent);
		return { names, query: Object.fromEntries(new URLSearchParams(query)) };
	} catch {
		return undefined;
	}
}

export const href = (names, query = {}) => withQuery(`#/${names.map(encodeURIComponent).join('/')}`, query);

export const appAddress = (app, query) => href(['app', app], query);
export const userAddress = (app, user, query) => href(['app', app, 'user', user], query);
export const sessionAddress = (app, user, session, query) =>
	href(['app', app, 'user', user, 'session', session], query);

export const compareAddress = (app, user, session, query) => href(['app', app, 'user', user, 'session', session, 'compare'], query);

export function go(address) {
	location.hash = address;
}

let opened = location.hash;
addEventListener('hashchange', () => { opened = location.hash; });

/** Writes where one is, without a step of history; not if one is about to leave. */
export function note(address) {
	if (location.hash !== opened || location.hash === address) return;
	history.replaceState(null, '', address);
	opened = location.hash;
}
