// Ctrl K: finds apps, users, sessions and events by the beginning of their names, and goes there.

import { get, path, sessionPath, withQuery } from './api.js';
import { dialog, fill, h } from './dom.js';
import { recent } from './recent.js';
import { appAddress, go, parse, sessionAddress, userAddress } from './router.js';

const DEBOUNCE = 120;
const MOST = 6;

export function openPalette() {
  let [places, chosen, turn, waiting] = [[], 0, new AbortController(), 0];
  const list = h('ul.places', { role: 'listbox', id: 'places', 'aria-label': 'Places' });
  const hint = h('p.hint', { 'aria-live': 'polite' });
  const input = h('input', {
    role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'places', 'aria-label': 'App, user, session or event',
    placeholder: 'app, session id, or app / user / session / event', spellcheck: 'false', autocomplete: 'off',
    input: () => { clearTimeout(waiting); waiting = setTimeout(look, DEBOUNCE); },
    keydown: (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      chosen = Math.min(Math.max(chosen + step, 0), places.length - 1);
      mark();
    },
  });
  const open = (place) => { box.close(); go(place.address); };
  const submit = async (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    await look();
    if (places[chosen]) open(places[chosen]);
  };
  let shownFor;
  async function look() {
    const text = input.value.trim();
    if (text === shownFor) return;
    turn.abort();
    turn = new AbortController();
    const { signal } = turn;
    const found = await find(text, signal);
    if (signal.aborted) return;
    [places, chosen, shownFor] = [found, 0, text];
    fill(list, places.map((place, index) => h('li', { role: 'option', id: `place-${index}`, click: () => open(place) },
      h('span.tag', place.kind), h('bdi', place.name), place.about && h('bdi.dim', place.about))));
    hint.textContent = places.length > 0 ? '' : text ? 'Nothing begins with this.' : 'Names between slashes; write %2F for a slash in a name.';
    mark();
  }
  function mark() {
    [...list.children].forEach((line, index) => line.setAttribute('aria-selected', String(index === chosen)));
    list.children[chosen]?.scrollIntoView({ block: 'nearest' });
    if (places.length) input.setAttribute('aria-activedescendant', `place-${chosen}`);
    else input.removeAttribute('aria-activedescendant');
  }
  const box = dialog('Go to', h('form', { submit }, input), list, hint);
  box.classList.add('palette');
  box.addEventListener('close', () => turn.abort());
  input.focus();
  look();
}

const place = {
  app: (app) => ({ kind: 'app', name: app, address: appAddress(app) }),
  user: (app, user) => ({ kind: 'user', name: user, about: app, address: userAddress(app, user) }),
  session: (app, user, id, title) => ({ kind: 'session', name: title || id, about: `${app} / ${user}${title ? ` / ${id}` : ''}`, address: sessionAddress(app, user, id) }),
  event: (app, user, id, event) => ({ kind: 'event', name: event, about: `${app} / ${user} / ${id}`, address: sessionAddress(app, user, id, { event }) }),
};

/** What fits a text: the beginning of a name, or names between slashes of which the last may be a beginning. */
async function find(text, signal) {
  const pasted = text.indexOf('#/');
  if (pasted >= 0) return [{ kind: 'address', name: text.slice(pasted), address: text.slice(pasted) }];
  const names = namesOf(text);
  if (!names) return [];
  const [app, user, id, event] = names;
  const groups = await Promise.all(names.length > 1
    ? [names.length === 2 ? usersOf(app, user, signal) : names.length === 3 ? sessionsOf(path('apps', app, 'users', user, 'sessions'), { idPrefix: id }, signal)
      : eventOf(app, user, id, event, signal)]
    : [lately(text), ...(text ? anywhere(text, signal) : [])]);
  const exact = [undefined, undefined, user && place.user(app, user), id && place.session(app, user, id)][names.length];
  const all = new Map([...groups.flat(), exact].filter(Boolean).map((one) => [one.address, one]));
  return [...all.values()].slice(0, 12);
}

function namesOf(text) {
  try {
    return text.split('/').map((part) => decodeURIComponent(part.trim()));
  } catch {
    return undefined;
  }
}

const lately = (text) => recent().filter(({ id, title = '' }) => `${id}\n${title}`.toLowerCase().includes(text.toLowerCase()))
  .map(({ app, user, id, title }) => place.session(app, user, id, title));

/** Apps, and what the app and the session that are open have of this name. */
function anywhere(text, signal) {
  const [, app, , user, , id] = parse(location.hash)?.names ?? [];
  return [
    appsOf(text, signal),
    user !== undefined && id !== undefined && eventOf(app, user, id, text, signal),
    app !== undefined && usersOf(app, text, signal),
    app !== undefined && sessionsOf(path('apps', app, 'sessions'), { idPrefix: text }, signal),
  ].filter(Boolean);
}

/** The answer, or nothing: what cannot be read is not found. */
async function ask(address, signal) {
  return (await get(address, signal).catch(() => undefined))?.json;
}

async function appsOf(text, signal) {
  const apps = (await ask('/v1/apps?pageSize=1000', signal))?.get('apps').items ?? [];
  return apps.map((one) => one.get('appName').string()).filter((name) => name.startsWith(text)).slice(0, MOST).map(place.app);
}

async function usersOf(app, userPrefix, signal) {
  const sessions = (await ask(withQuery(path('apps', app, 'sessions'), { userPrefix, pageSize: 100 }), signal))?.get('sessions').items ?? [];
  const users = new Set(sessions.map((one) => one.get('userId').string()));
  return [...users].slice(0, MOST).map((user) => place.user(app, user));
}

async function sessionsOf(address, filters, signal) {
  const query = { ...filters, orderBy: 'lastUpdateTime', order: 'desc', pageSize: MOST };
  const sessions = (await ask(withQuery(address, query), signal))?.get('sessions').items ?? [];
  return sessions.map((one) => place.session(...['appName', 'userId', 'id', 'displayName'].map((name) => one.get(name)?.string())));
}

async function eventOf(app, user, id, event, signal) {
  if (!event) return [];
  const found = await ask(`${sessionPath(app, user, id)}/events/${encodeURIComponent(event)}`, signal);
  return found ? [place.event(app, user, id, event)] : [];
}
