// Signing in with a key or a token. It is kept in the session storage of this tab and goes into one header, nowhere else.

import { credential } from './api.js';
import { field, fill, h } from './dom.js';

export function openSignIn({ root, wasRefused, done }) {
  credential.clear();
  const input = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  const submit = (event) => {
    event.preventDefault();
    credential.set(input.value.trim());
    done();
  };
  fill(document.getElementById('nav'), h('a.brand', { href: '#/' }, 'sessiond'));
  fill(root, h('div.plain.narrow',
    h('h1', 'Sign in'),
    wasRefused && h('p.failure', { role: 'alert' }, 'The server does not accept this credential. It may be unknown, revoked or expired.'),
    h('form', { submit },
      field('API key or token', input, 'It stays in this tab and is forgotten when the tab is closed.'),
      h('footer', h('button.primary', { type: 'submit' }, 'Sign in'))),
    h('p.dim', 'An administrator makes a key: ', h('code', 'sessiond keys create'))));
  input.focus();
}
