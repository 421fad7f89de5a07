// What the server is, what it takes, whether it answers, and who is signed in.

import { who } from './access.js';
import { curl, get, Problem } from './api.js';
import { copyButton, fill, h } from './dom.js';
import { problemText } from './request.js';
import { time } from './times.js';

const PROBE = '/v1/apps?pageSize=1';
const SIZES = ['B', 'KiB', 'MiB', 'GiB'];
const DATABASES = { sqlite: 'SQLite', postgresql: 'PostgreSQL' };
const KINDS = { none: 'none is asked for', key: 'API key', token: 'user token', jwt: 'JWT' };

export async function openServer({ root, signal }) {
  const { info, json: whoami } = who;
  const readiness = h('dd', { 'aria-live': 'polite' });
  const check = async () => fill(readiness, await probe(signal));
  await check();
  fill(root, h('div.plain',
    h('header.bar', h('h1', 'Server'), h('span.space'),
      copyButton('Copy as curl', curl({ path: '/v1/info' })),
      h('button', { click: check }, 'Check again')),
    h('dl.facts.wide',
      h('dt', 'Version'), h('dd', info.get('version').string()),
      h('dt', 'Database'), h('dd', DATABASES[info.get('database').string()] ?? info.get('database').string()),
      h('dt', 'Readiness'), readiness,
      h('dt', 'Features'), h('dd', who.features.map((feature) => [h('span.label', feature), ' '])),
      h('dt', 'Reference'), h('dd', h('a', { href: '/docs' }, 'All operations'), ' · ', h('a', { href: '/openapi.yaml' }, 'openapi.yaml'))),
    h('h2', 'Limits'),
    h('dl.facts.wide', info.get('limits').members.map(({ key, value }) => [h('dt', key.string()), h('dd', limit(key.string(), value))])),
    h('header.bar', h('h2', 'Who you are'), h('span.space'), copyButton('Copy as curl', curl({ path: '/v1/whoami' }))),
    h('dl.facts.wide',
      h('dt', 'Credential'), h('dd', KINDS[who.kind] ?? who.kind),
      who.id && [h('dt', who.kind === 'jwt' ? 'Subject' : 'Key id'), h('dd', h('bdi', who.id))],
      h('dt', 'Role'), h('dd', who.role),
      h('dt', 'Apps'), h('dd', names(who.apps)),
      h('dt', 'Users'), h('dd', names(who.users)),
      who.kind !== 'none' && [h('dt', 'Expires'), h('dd', whoami.get('expireTime') ? time(whoami.get('expireTime').number()) : 'never')])));
}

/** A read that needs the database. */
async function probe(signal) {
  const start = performance.now();
  try {
    await get(PROBE, signal);
    return [h('span.ready', 'Ready'), h('span.dim', `: a read of the database took ${Math.max(1, Math.round(performance.now() - start))} ms`)];
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status === 401) throw problem;
    return h('div.failure', problemText(problem));
  }
}

const names = (list) => (list.includes('*') ? 'all' : list.map((name, index) => [index > 0 && ', ', h('bdi', name)]));

function limit(name, value) {
  if (name.endsWith('Seconds')) return `${value.text} s`;
  if (!name.endsWith('Bytes')) return value.number().toLocaleString('en');
  let [size, unit] = [value.number(), 0];
  while (size >= 1024 && size % 1024 === 0 && unit < SIZES.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${size.toLocaleString('en')} ${SIZES[unit]}`;
}
