// A list as CSV (RFC 4180), as the API answers it: texts as they are, and everything else as its JSON.

import { get, withQuery } from './api.js';
import { saveAs } from './dom.js';

const PAGE = 1000;

/** What a spreadsheet would take for a formula; also behind what ends a cell for those that separate by it. */
const FORMULA = /^(?=[\t\r\n]|[\s"']*[=+\-@\uff0b\uff0d\uff1d\uff20])/;
const FURTHER = /[;\t\r\n](?=[\s"']*[=+\-@\uff0b\uff0d\uff1d\uff20])/g;

/** A cell: a text in quotes, with an apostrophe in front of what a spreadsheet would run; a number as it is. */
export function cell(json) {
	if (json === undefined || json.kind === 'number' || json.kind === 'literal') return json?.text ?? '';
	const shown = (json.string() ?? json.text).replace(FURTHER, "$&'").replace(FORMULA, "'");
	return `"${shown.replaceAll('"', '""')}"`;
}

/**
 * Saves all pages of a list. Each is given to the browser as it comes, which keeps it where it keeps files.
 * `items` is the name of the list, `fields` are those of its items, `onRows(count)` hears how many there are.
 */
export async function saveCsv({ name, address, items, fields, signal, onRows }) {
	// With a mark of UTF-8, without which spreadsheets take it for something else.
	const parts = [`\ufeff${fields.join()}\r\n`];
	let [count, pageToken] = [0, undefined];
	do {
		const { json } = await get(withQuery(address, { pageSize: PAGE, pageToken }), signal);
		const rows = json.get(items).items;
		parts.push(new Blob(rows.map((row) => `${fields.map((field) => cell(row.get(field))).join()}\r\n`)));
		onRows(count += rows.length);
		pageToken = json.string('nextPageToken');
	} while (pageToken !== undefined);
	saveAs(`${name}.csv`, new Blob(parts));
}
