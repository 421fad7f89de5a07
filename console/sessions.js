// The sessions of an app or of one of its users: newest first, with filters that the address of the page holds.

import { curl, path, withQuery } from './api.js';
import { copy, h } from './dom.js';
import { PagedTable } from './paged.js';
import { complain } from './request.js';
import { href, note, sessionAddress, userAddress } from './router.js';
import { time } from './times.js';

const DEBOUNCE = 200;
const PAGE = 50;

export class SessionList {
  filters = {}; // by their names in the API

  /** Without `user`, those of all users. `remove(session)` is called for the button at the end of a row, if it is given. */
  constructor({ app, user, signal, remove }) {
    Object.assign(this, { app, user, signal, remove });
    this.path = user === undefined ? path('apps', app, 'sessions') : path('apps', app, 'users', user, 'sessions');
    this.inputs = Object.fromEntries([
      user === undefined && ['userPrefix', this.#prefix('userPrefix', 'User begins with')],
      ['idPrefix', this.#prefix('idPrefix', 'Id begins with')],
    ].filter(Boolean));
    this.label = h('input', {
      type: 'text', size: 16, 'aria-label': 'Label, as name=value', placeholder: 'label=value', spellcheck: 'false', autocomplete: 'off',
      pattern: '[a-z0-9_.\\-]{1,63}=.*', title: 'A label as name=value; Enter adds it',
    });
    this.labels = h('span.chips');
    const submit = (event) => { event.preventDefault(); this.#addLabel(); };
    const form = h('form.filters', { role: 'search', 'aria-label': 'Filter sessions', submit },
      Object.values(this.inputs), this.label, h('button.unseen', { type: 'submit', tabindex: -1 }, 'Add the label'), this.labels);
    this.table = new PagedTable({
      label: 'Sessions', items: 'sessions', signal,
      columns: [
        { title: 'Session' }, user === undefined && { title: 'User', look: 'user' }, { title: 'Labels', look: 'labels' },
        { title: 'Events', look: 'number' }, { title: 'Updated', look: 'when' }, remove && { title: '', look: 'act' },
      ].filter(Boolean),
      address: () => this.address(), row: (session) => this.#row(session), empty: () => this.#empty(),
    });
    this.element = h('section.sessions', { 'aria-label': 'Sessions' }, form, this.table.element);
  }

  /** The request of this list. */
  address() {
    return withQuery(this.path, { orderBy: 'lastUpdateTime', order: 'desc', pageSize: PAGE, ...this.filters });
  }

  /** Takes the filters that an address has. */
  async update(query) {
    const isFilter = (name) => name in this.inputs || name.startsWith('label.');
    this.filters = Object.fromEntries(Object.entries(query).filter(([name, value]) => isFilter(name) && value !== ''));
    for (const [name, input] of Object.entries(this.inputs)) {
      if (document.activeElement !== input) input.value = this.filters[name] ?? '';
    }
    this.#drawLabels();
    await this.table.load();
  }

  keys() {
    return { ...this.table.keys(), y: () => this.copyCurl() };
  }

  copyCurl() {
    return copy(curl({ path: this.address() }));
  }

  #change(filters) {
    clearTimeout(this.waiting);
    if (this.signal.aborted) return;
    note(this.#here(filters));
    this.update(filters).catch(complain);
  }

  #here(filters) {
    return this.user === undefined ? href(['app', this.app], filters) : userAddress(this.app, this.user, filters);
  }

  #prefix(name, label) {
    const input = h('input', {
      type: 'search', size: 16, 'aria-label': label, placeholder: label, 'data-filter': true, spellcheck: 'false', autocomplete: 'off',
      input: () => {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => this.#change({ ...this.filters, [name]: input.value }), DEBOUNCE);
      },
    });
    return input;
  }

  #addLabel() {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(this.label.value) ?? [];
    const typed = Object.fromEntries(Object.entries(this.inputs).map(([key, input]) => [key, input.value]));
    this.label.value = '';
    this.#change({ ...this.filters, ...typed, ...(name && { [`label.${name}`]: value }) });
  }

  #drawLabels() {
    const chosen = Object.entries(this.filters).filter(([name]) => name.startsWith('label.'));
    this.labels.replaceChildren(...chosen.map(([name, value]) => {
      const text = `${name.slice('label.'.length)}=${value}`;
      const drop = () => {
        this.#change({ ...this.filters, [name]: '' });
        this.label.focus();
      };
      return h('button.chip', { type: 'button', 'aria-label': `Remove the filter ${text}`, click: drop }, h('bdi', text), ' ×');
    }));
  }

  #row(session) {
    const [id, user, title] = ['id', 'userId', 'displayName'].map((name) => session.get(name)?.string());
    const fork = session.at('forkedFrom', 'sessionId')?.string();
    const labels = (session.get('labels')?.members ?? []).map(({ key, value }) => [key.string(), value.string()]);
    const filter = (name, value) => this.#here({ ...this.filters, [`label.${name}`]: value });
    const address = sessionAddress(this.app, user, id);
    return h('tr',
      h('td', h('a.open', { href: address, title: title ? `${title}\n${id}` : id }, h('bdi', title || id),
        title && [' ', h('bdi.id', id)]), fork !== undefined && h('span.label.fork', { title: `Fork of ${fork}` }, 'fork')),
      this.user === undefined && h('td.user', h('a', { href: userAddress(this.app, user), title: user }, h('bdi', user))),
      h('td.labels', labels.map(([name, value]) =>
        h('a.label', { href: filter(name, value), title: `Only sessions with ${name}=${value}` }, h('bdi', `${name}=${value}`)))),
      h('td.number', session.get('revision').text),
      h('td.when', time(session.get('lastUpdateTime').number())),
      this.remove && h('td.act', h('button.quiet', { type: 'button', 'aria-label': `Delete ${id}`, click: () => this.remove(id) }, 'Delete…')));
  }

  #empty() {
    if (Object.keys(this.filters).length > 0) {
      return h('div.empty', h('p', 'No session fits these filters. ', h('a', { href: this.#here({}) }, 'Show all')),
        h('pre.example', curl({ path: this.address() })));
    }
    const owner = this.user ?? 'ada';
    const create = { method: 'POST', path: path('apps', this.app, 'users', owner, 'sessions'), body: '{"sessionId":"s1","state":{"topic":"billing"}}' };
    return h('div.empty', h('p', 'There are no sessions here yet. The first one:'), h('pre.example', curl(create)));
  }
}
