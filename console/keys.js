// API keys (create, change, rotate, revoke) and tokens of users (issue, revoke). A secret is shown once.

import { hasRole, ROLES, who } from './access.js';
import { curl, path } from './api.js';
import { copyButton, dialog, field, fill, h, toast } from './dom.js';
import { compose, quote } from './json.js';
import { PagedTable } from './paged.js';
import { ask } from './request.js';
import { exact, time } from './times.js';

const DAY = 86_400;
const TIMES = [['never', undefined], ['in an hour', 3600], ['in a day', DAY], ['in 7 days', 7 * DAY], ['in 30 days', 30 * DAY], ['in 90 days', 90 * DAY], ['in a year', 365 * DAY]];

export async function openKeys({ root, signal }) {
  if (who.kind === 'none') return fill(root, noSignIn());
  const table = hasRole('admin') && keyTable(signal);
  const mint = who.kind === 'key' && hasRole('agent');
  await table?.load?.();
  fill(root, h('div.plain',
    h('header.bar', h('h1', 'Keys'), h('span.space'),
      table && copyButton('Copy as curl', curl({ path: '/v1/keys' })),
      table && h('button.primary', { type: 'button', title: 'Create a key (n)', click: () => changeKey({ table }) }, 'New key')),
    table ? table.element : h('p.dim', 'The role admin sees and makes keys.'),
    h('header.bar', h('h2', 'Tokens'), h('span.space'),
      hasRole('agent') && h('button', { type: 'button', click: revokeTokens }, 'Revoke a user\'s tokens…'),
      mint && h('button', { type: 'button', click: issueToken }, 'Issue a token…')),
    h('p.dim', 'A token is for one user of one app, for a browser. It is stored nowhere, is never worth more than the key that issues it, and ends with it.',
      !mint && ' Issuing one takes an API key of the role agent or above.')));
  return { keys: () => (table ? { ...table.keys(), n: () => changeKey({ table }) } : {}) };
}

function noSignIn() {
  return h('div.plain', h('h1', 'Keys'),
    h('p', 'This server asks for no credential: everybody who reaches it may do everything. The first key switches sign-in on, in every process within 5 s:'),
    h('pre.example', 'sessiond keys create --name me --role admin'));
}

function keyTable(signal) {
  const table = new PagedTable({
    label: 'Keys', items: 'keys', signal,
    columns: [{ title: 'Name' }, { title: 'Role', look: 'role-name' }, { title: 'Apps', look: 'names' }, { title: 'Users', look: 'names' },
      { title: 'Used', look: 'when' }, { title: 'Expires', look: 'when' }, { title: '', look: 'acts' }],
    address: () => '/v1/keys',
    row: (json) => keyRow(keyOf(json), table),
    empty: () => h('p.empty', 'There are no keys within your grant.'),
  });
  table.element.classList.add('keyring');
  return table;
}

function keyOf(json) {
  const words = (name) => json.get(name).items.map((one) => one.string());
  const [id, name, role] = ['id', 'name', 'role'].map((field) => json.get(field).string());
  return { id, name, role, apps: words('apps'), users: words('users'), used: json.get('lastUsedTime')?.number(), expires: json.get('expireTime')?.number() };
}

function keyRow(key, table) {
  const button = (label, action) => h('button.quiet', { type: 'button', 'aria-label': `${label} ${key.name}`, click: action }, label);
  return h('tr',
    h('td', { title: `${key.name}\n${key.id}` }, h('button.quiet.open', { type: 'button', click: () => changeKey({ table, key }) }, h('bdi', key.name)), ' ',
      h('span.id', key.id), who.kind === 'key' && who.id === key.id && h('span.label.you', 'you')),
    h('td.role-name', key.role),
    [key.apps, key.users].map((names) => h('td.names', { title: names.join('\n') }, h('bdi', names.join(', ')))),
    h('td.when', key.used === undefined ? h('span.dim', 'never') : time(key.used)),
    h('td.when', key.expires === undefined ? h('span.dim', 'never') : time(key.expires)),
    h('td.acts', button('Rotate…', () => rotate(key, table)), button('Revoke…', () => revoke(key, table))));
}

const text = (value, attributes) => h('input', { value, spellcheck: 'false', autocomplete: 'off', ...attributes });
const lines = (value) => value.split('\n').filter(Boolean);
const list = (names) => `[${names.map(quote).join(',')}]`;

function roleChoice(chosen) {
  const choice = h('select', ROLES.filter(hasRole).map((role) => h('option', { value: role }, role)));
  choice.value = chosen;
  return choice;
}

/** Without `key` a new one. Only what was changed is sent. */
function changeKey({ table, key, ttl = 'keep' }) {
  const name = text(key?.name ?? '', { required: true });
  const role = roleChoice(key?.role ?? 'agent');
  const [apps, users] = [key?.apps ?? who.apps, key?.users ?? who.users].map((names) =>
    h('textarea', { rows: 2, spellcheck: 'false', value: names.join('\n') }));
  const times = key ? [[`as it is: ${key.expires ? exact(key.expires) : 'never'}`, 'keep'], ...TIMES] : TIMES;
  const expiry = h('select', times.map(([title, seconds]) => h('option', { value: seconds ?? '' }, title)));
  expiry.value = key ? ttl : '';
  const request = () => {
    if (!name.value) throw new Error('Name the key: what is it for?');
    const changed = (now, before) => (now === before ? undefined : now);
    const grants = { apps: list(lines(apps.value)), users: list(lines(users.value)) };
    const body = compose({
      name: changed(quote(name.value), key && quote(key.name)),
      role: changed(quote(role.value), key && quote(key.role)),
      apps: changed(grants.apps, key && list(key.apps)),
      users: changed(grants.users, key && list(key.users)),
      ttl: expiry.value === 'keep' || expiry.value === '' ? undefined : expiry.value,
      expireTime: key && expiry.value === '' ? 'null' : undefined,
    });
    if (body === '{}') throw new Error('Nothing is changed yet.');
    return key ? { method: 'PATCH', path: path('keys', key.id), body } : { method: 'POST', path: '/v1/keys', body };
  };
  ask({
    title: key ? 'Change key' : 'New key',
    about: key && who.id === key.id && 'You are signed in with this key.',
    fields: [field('Name', name), field('Role', role), field('Apps', apps, 'One a line; a trailing * is a prefix, * alone is all.'),
      field('Users', users, 'As apps. The role user is for exactly one.'), field('Expires', expiry)],
    action: key ? 'Change' : 'Create',
    request,
    done: async (answer, box) => {
      box.close();
      if (key) toast('Key changed');
      else showSecret('New key', answer.json.get('key').string());
      await table.load();
    },
  });
}

/** A key like this one; the old one goes on until it is given an end. */
function rotate(key, table) {
  ask({
    title: 'Rotate key',
    about: ['Makes a key like ', h('bdi', h('b', key.name)), '. The old one still holds: put the new one in place, then let the old one expire.'],
    action: 'Make the new key',
    request: () => ({ method: 'POST', path: '/v1/keys', body: compose({
      name: quote(key.name), role: quote(key.role), apps: list(key.apps), users: list(key.users),
      expireTime: key.expires === undefined ? undefined : String(key.expires),
    }) }),
    done: async (answer, box) => {
      box.close();
      const end = h('button', { type: 'button', click: () => { shown.close(); changeKey({ table, key, ttl: DAY }); } }, 'Let the old key expire in a day…');
      const shown = showSecret('New key', answer.json.get('key').string(), end);
      await table.load();
    },
  });
}

function revoke(key, table) {
  const typed = text('');
  ask({
    title: 'Revoke key',
    about: [h('bdi', h('b', key.name)), ' and its tokens hold nowhere any more within 5 s. This cannot be undone.', who.id === key.id && ' You are signed in with this key.'],
    fields: [field(['Type ', h('span.id', key.id), ' to confirm'], typed)],
    action: 'Revoke',
    danger: true,
    request: () => {
      if (typed.value !== key.id) throw new Error('Type the id of the key.');
      return { method: 'DELETE', path: path('keys', key.id) };
    },
    done: async (_, box) => {
      box.close();
      toast('Key revoked');
      await table.load();
    },
  });
}

function issueToken() {
  const [app, user] = [text('', { required: true }), text('', { required: true })];
  const role = roleChoice(hasRole('user') ? 'user' : 'reader');
  const ttl = h('select', [['in 15 minutes', 900], ['in an hour', 3600], ['in 8 hours', 28_800], ['in a day', DAY]].map(([title, value]) => h('option', { value }, title)));
  ttl.value = '3600';
  ask({
    title: 'Issue a token',
    fields: [field('App', app), field('User', user), field('Role', role), field('Expires', ttl)],
    action: 'Issue',
    request: () => {
      if (!app.value || !user.value) throw new Error('Name the app and the user.');
      return { method: 'POST', path: '/v1/tokens', body: compose({ app: quote(app.value), user: quote(user.value), role: quote(role.value), ttl: ttl.value }) };
    },
    done: (answer, box) => {
      box.close();
      showSecret(`Token, until ${exact(answer.json.get('expireTime').number())}`, answer.json.get('token').string());
    },
  });
}

function revokeTokens() {
  const [app, user] = [text('', { required: true }), text('', { required: true })];
  ask({
    title: 'Revoke a user\'s tokens',
    about: 'Tokens of this user that were issued before now hold nowhere any more within 5 s.',
    fields: [field('App', app), field('User', user)],
    action: 'Revoke',
    danger: true,
    request: () => {
      if (!app.value || !user.value) throw new Error('Name the app and the user.');
      return { method: 'POST', path: '/v1/tokens/revoke', body: compose({ app: quote(app.value), user: quote(user.value) }) };
    },
    done: (_, box) => {
      box.close();
      toast('Tokens revoked');
    },
  });
}

function showSecret(title, secret, ...more) {
  const done = h('button.primary', { type: 'button', click: () => box.close() }, 'I have it');
  const box = dialog(title,
    h('p', 'It is shown now and never again. Keep it like a password.'),
    h('pre.example.secret', { tabindex: 0, 'aria-label': 'The secret' }, secret),
    h('div.bar', copyButton('Copy', secret), h('span.space'), more, done));
  return box;
}
