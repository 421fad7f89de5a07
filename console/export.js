// An export, into a file.

import { authorization, urlOf } from './api.js';
import { h, toast } from './dom.js';
import { complain } from './request.js';

/** `of` is the path of a session, a user or an app. */
export function exportButton(of, name) {
	const load = async () => {
		const answer = await fetch(urlOf(`${of}/export`), { headers: authorization() });
		const blob = await answer.blob();
		const isWhole = answer.ok && (await blob.slice(-200).text()).includes('"type":"end"');
		if (!isWhole) return toast('The export is cut.', 'error');
		const href = URL.createObjectURL(blob);
		h('a', { href, download: `${name.replace(/[^\w.-]/g, '_')}.ndjson` }).click();
		setTimeout(() => URL.revokeObjectURL(href), 60_000);
	};
	return h('button', { title: 'All of it, as it is stored', click: () => load().catch(complain) }, 'Export');
}
