// Files of a session or a user: a list, and a dialog for each with its versions. What is in a file is given to an image or a text
// node alone: no page, frame or link ever opens it.

import { curl, send, withQuery } from './api.js';
import { closeDialogs, copyButton, dialog, example, facts, field, fill, h, wordInput } from './dom.js';
import { longer, tree } from './jsonview.js';
import { PagedTable } from './paged.js';
import { ask, complain, download, problemText } from './request.js';
import { size, time } from './times.js';

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const LARGEST = 16 << 20; // bytes of what is shown
const FACTS = [['Type', 'mimeType'], ['Title', 'displayName'], ['Address', 'fileUri'], ['SHA-256', 'sha256']];

export class Files {
	at = null; // the revision of which the list is; undefined: now; null: it is to be read

	/** `of` is the path of a session or a user. */
	constructor({ of, title, mayEdit, signal }) {
		Object.assign(this, { of, mayEdit, signal });
		const address = () => withQuery(`${of}/artifacts`, { atRevision: this.at });
		this.table = table({
			label: title, items: 'artifacts', signal, address, empty: () => h('div.empty', h('p', 'No files.', mayEdit && ' Agents save them, or a command:'),
				mayEdit && example(`${curl({ method: 'PUT', path: this.#path('report.txt') })} -T report.txt`)),
			row: (json) => {
				const [name, version] = [json.string('name'), json.get('version').text];
				return row(json, name, h('span.id', `v${version}`), () => this.open(name, version));
			},
		});
		this.button = h('button', { click: () => this.upload() }, 'Upload…');
		const drop = (event) => { event.preventDefault(); this.upload(event.dataTransfer.files); };
		this.element = h('section.scope', { 'aria-label': title, ...mayEdit && { drop, dragover: (event) => event.preventDefault() } },
			h('h3', title), this.table.element, h('div.bar', mayEdit && this.button, copyButton('Copy as curl', () => curl({ path: address() }))));
	}

	#path(name, version) {
		return withQuery(`${this.of}/artifacts/${encodeURIComponent(name)}`, { version });
	}

	/** Those that the events up to a revision name; without one, those of now. */
	async show(at) {
		if (this.at === at) return;
		this.at = at;
		await this.table.load();
	}

	/** A dialog about a file, which shows one of its versions. */
	async open(name, version) {
		const known = new Map(); // version -> what the list says of it
		const place = h('div.version');
		const show = (one) => this.#show(place, name, one, known.get(one));
		const versions = table({
			label: 'Versions', items: 'versions', signal: this.signal, empty: () => undefined,
			address: () => `${this.#path(name)}/versions?pageSize=1000`,
			row: (json) => {
				const one = json.get('version').text;
				known.set(one, json);
				return row(json, `Version ${one}`, time(json.number('createTime')), () => show(one));
			},
		});
		await versions.load();
		if (this.signal.aborted) return;
		dialog(name, place, versions.element, this.mayEdit && h('div.bar', h('button', { click: () => this.#remove(name) }, 'Delete all versions…')));
		await show(version);
	}

	async #show(place, name, version, json) {
		const path = this.#path(name, version);
		const isAddress = json?.string('kind') === 'uri';
		const load = () => download(path, name.split('/').at(-1)).catch(complain);
		const content = h('div', 'Loading…');
		fill(place, h('h3', `Version ${version}`),
			facts(FACTS.map(([label, field]) => json?.string(field) && [label, h('bdi', json.string(field))])),
			json?.get('metadata') && tree(json.get('metadata')),
			h('div.bar', !isAddress && h('button', { click: load }, 'Download'),
				this.mayEdit && h('button', { click: () => this.#remove(name, version) }, 'Delete this version…'), copyButton('Copy as curl', curl({ path }))),
			content);
		fill(content, isAddress ? 'It is elsewhere.' : await preview(path, this.signal).catch(problemText));
	}

	#remove(name, version) {
		ask({
			title: version === undefined ? 'Delete all versions' : `Delete version ${version}`, id: name, action: 'Delete', said: 'Deleted',
			about: 'For good. Its number is not used again.', request: () => ({ method: 'DELETE', path: this.#path(name, version) }),
			done: () => { closeDialogs(); return this.table.load(); },
		});
	}

	/** Asks for the name of each file; without files, for them, too. */
	upload([file, ...others] = []) {
		const name = wordInput({ value: file?.name ?? '' });
		const choose = ({ target }) => { [file, ...others] = target.files; name.value = file?.name ?? ''; };
		ask({
			title: 'Upload a file', action: 'Upload', said: 'File saved',
			fields: [!file && field('File', h('input', { type: 'file', multiple: true, change: choose })), field('Name', name, 'The same name again is its next version.')],
			request: () => {
				if (!file || !name.value) throw new Error('Choose a file, and name it.');
				return { method: 'PUT', path: this.#path(name.value), body: file };
			},
			done: () => {
				if (others.length > 0) this.upload(others);
				return this.table.load();
			},
		});
	}
}

const table = (rest) => new PagedTable({ columns: [{ title: 'Name' }, { title: 'Type', look: 'kind' }, { title: 'Size', look: 'number' }], ...rest });

function row(json, name, about, open) {
	const type = json.string('mimeType') ?? 'address';
	return h('tr', h('td', h('div.cell', h('button.quiet.open', { title: name, click: () => open().catch(complain) }, h('bdi', name)), about)),
		h('td.kind', { title: type }, h('bdi', type)), h('td.number', json.get('size') && size(json.number('size'))));
}

/** A picture of one of four types, or a text, whatever its type. */
async function preview(path, signal) {
	const { taken } = await send({ path, signal, take: async (answer) => {
		if (answer.headers.get('content-length') <= LARGEST) return answer.blob();
		return void await answer.body.cancel();
	} });
	if (!taken) return h('p.empty', `Only up to ${size(LARGEST)} are shown.`);
	if (PICTURES.includes(taken.type.split(';')[0])) {
		const src = URL.createObjectURL(taken);
		const forget = () => URL.revokeObjectURL(src);
		return h('img.picture', { src, alt: 'This is no picture, or a broken one.', load: forget, error: forget });
	}
	try {
		return h('pre.raw', { tabindex: 0 }, longer(new TextDecoder('utf-8', { fatal: true }).decode(await taken.arrayBuffer())));
	} catch {
		return h('p.empty', 'This is neither a picture nor a text.');
	}
}
