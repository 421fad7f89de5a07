// Ctrl K: one field that takes an address or names: app / user / session / event.

import { dialog, h } from './dom.js';
import { recent } from './recent.js';
import { appAddress, go, sessionAddress, userAddress } from './router.js';

export function openPalette() {
  const input = h('input', { 'aria-label': 'app / user / session / event id', placeholder: 'app / user / session / event id', spellcheck: 'false', autocomplete: 'off' });
  const submit = (event) => {
    event.preventDefault();
    const address = addressOf(input.value);
    if (!address) return;
    box.close();
    go(address);
  };
  const links = recent().map(({ app, user, id, title }) =>
    h('li', h('a', { href: sessionAddress(app, user, id), click: () => box.close() }, h('bdi', title || id), h('span.dim', ` ${app} / ${user}`))));
  const box = dialog('Go to', h('form', { submit }, input),
    h('p.hint', 'Names between slashes; write %2F for a slash in a name.'), links.length > 0 && [h('h3', 'Recent'), h('ul.links', links)]);
  box.classList.add('palette');
  input.focus();
}

export function addressOf(text) {
  if (text.includes('#/')) return text.slice(text.indexOf('#'));
  let names;
  try {
    names = text.split('/').map((part) => decodeURIComponent(part.trim())).filter(Boolean);
  } catch {
    return undefined;
  }
  const [app, user, session, event] = names;
  if (session) return sessionAddress(app, user, session, { event });
  if (user) return userAddress(app, user);
  return app ? appAddress(app) : undefined;
}
