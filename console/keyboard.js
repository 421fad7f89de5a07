// The keyboard: keys outside of fields, `g` and a letter to go somewhere.

import { dialog, h, isAsking } from './dom.js';
import { openPalette } from './palette.js';
import { appAddress, go, parse, userAddress } from './router.js';

const HELP = [
	['Everywhere', [['?', 'this help'], ['Ctrl K', 'go to an app, a user or a session'], ['/', 'search, find or filter, or else go to'], ['g a', 'apps'], ['g l', 'sessions of this app'], ['g u', 'this user'], ['g f', 'feed'], ['g k', 'keys'], ['g s', 'server'], ['Esc', 'close']]],
	['In a list', [['j k', 'next, previous row'], ['Enter', 'open the row'], ['n', 'new session, new key'], ['e', 'edit state'], ['y', 'copy as curl']]],
	['In a session', [['j k', 'next, previous event'], ['[ ]', 'slider one step back, ahead'], ['{ }', 'by invocation'], ['t', 'to the end, live'], ['e', 'edit state'], ['f', 'fork here'], ['c', 'compare'], ['y', 'copy as curl']]],
];

/** `pageKeys()` gives what keys do on the page that is open. */
export function listen(pageKeys) {
	let went = 0;
	addEventListener('keydown', (event) => {
		if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
			event.preventDefault();
			if (!isAsking()) openPalette();
			return;
		}
		const isTyping = event.target.matches('input:not([type=range], [type=checkbox]), textarea, select');
		if (isTyping && event.key === 'Escape') {
			if (event.target.type === 'search') event.preventDefault(); // what is typed stays, as what it shows does
			event.target.blur();
		}
		if (isTyping || event.ctrlKey || event.metaKey || event.altKey || isAsking()) return;
		if (event.key === 'g') { went = Date.now(); return; }
		const isGoing = Date.now() - went < 1500;
		went = 0;
		const action = isGoing ? goKeys()[event.key] : { ...always(), ...pageKeys() }[event.key];
		if (!action) return;
		event.preventDefault();
		action();
	});
}

const always = () => ({
	'?': showHelp,
	'/': filter,
});

/** Takes what is typed next in any case: as keys, its letters would do things. */
function filter() {
	const input = [...document.querySelectorAll('[data-filter]')].find((one) => one.checkVisibility());
	if (input) input.focus();
	else openPalette();
}

function goKeys() {
	const [, app, , user] = parse(location.hash)?.names ?? [];
	return {
		a: () => go('#/'),
		f: () => go('#/feed'),
		k: () => go('#/keys'),
		s: () => go('#/server'),
		l: () => app && go(appAddress(app)),
		u: () => app && user && go(userAddress(app, user)),
	};
}

function showHelp() {
	dialog('Keys', HELP.map(([title, keys]) => [
		h('h3', title),
		h('dl.help', keys.map(([key, about]) => [h('dt', key.split(' ').map((one) => h('kbd', one))), h('dd', about)])),
	]));
}
