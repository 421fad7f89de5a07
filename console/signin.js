// Signing in. The credential is kept in the session storage of this tab and goes into one header, nowhere else.

import { credential } from './api.js';
import { example, field, fill, h } from './dom.js';

export function openSignIn({ root, wasRefused, done }) {
	credential.clear();
	const trouble = h('p.failure', { role: 'alert' },
		wasRefused && 'The server does not accept this credential. It may be unknown, revoked or expired.');
	const input = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
	const submit = (event) => {
		event.preventDefault();
		const text = input.value.trim();
		if (!/^[\x21-\x7e]+$/.test(text)) return fill(trouble, 'This is no credential: it has blanks or characters that none has.');
		credential.set(text);
		return done();
	};
	fill(document.getElementById('nav'), h('a.brand', { href: '#/' }, 'sessiond'));
	document.title = 'Sign in · sessiond';
	fill(root, h('div.plain.narrow',
		h('h1', 'Sign in'),
		trouble,
		h('form', { submit },
			field('API key, token or JWT', input, 'It stays in this tab and is forgotten when the tab is closed.'),
			h('footer', h('button.primary', { type: 'submit' }, 'Sign in'))),
		h('div.dim', 'Whoever runs the server makes a key:', example("sessiond keys create --role=operator --apps='*' --name=console"))));
	input.focus();
}
