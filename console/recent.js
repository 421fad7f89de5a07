// Sessions that were opened lately; names only, in local storage.

const SLOT = 'sessiond.recent';
const MOST = 8;

export function recent() {
	const text = localStorage.getItem(SLOT) ?? '';
	return text.split('\n').filter(Boolean).map((line) => {
		const [app, user, id, title] = line.split(' ').map(decodeURIComponent);
		return { app, user, id, title };
	});
}

export function remember(session) {
	const line = ({ app, user, id, title = '' }) => [app, user, id, title].map(encodeURIComponent).join(' ');
	const isOther = (other) => other.app !== session.app || other.user !== session.user || other.id !== session.id;
	const list = [session, ...recent().filter(isOther)].slice(0, MOST);
	localStorage.setItem(SLOT, list.map(line).join('\n'));
}

export function forgetAll() {
	localStorage.removeItem(SLOT);
}
