// Times and sizes for people.

import { h } from './dom.js';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });
const STEPS = [['year', 31_557_600], ['month', 2_629_800], ['day', 86_400], ['hour', 3600], ['minute', 60]];

/** Unix seconds as "5m ago". */
function ago(seconds) {
	const distance = seconds - Date.now() / 1000;
	for (const [unit, length] of STEPS) {
		if (Math.abs(distance) >= length) return relative.format(Math.trunc(distance / length), unit);
	}
	return Math.abs(distance) < 10 ? 'now' : relative.format(Math.trunc(distance), 'second');
}

/** Unix seconds as "2026-03-04 12:03:22.120", in the time of this machine. */
export function exact(seconds) {
	const date = new Date(seconds * 1000);
	if (Number.isNaN(date.getTime())) return String(seconds);
	const two = (number) => String(number).padStart(2, '0');
	const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	return `${day} ${clock(seconds)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString('en-GB');

/** A span of seconds as "+1.2s". */
export function span(seconds) {
	if (seconds < 0) return '−';
	if (seconds < 0.9995) return `+${Math.round(seconds * 1000)}ms`;
	if (seconds < 60) return `+${seconds.toFixed(1)}s`;
	if (seconds < 3600) return `+${Math.floor(seconds / 60)}m`;
	if (seconds < 172_800) return `+${Math.floor(seconds / 3600)}h`;
	return `+${Math.floor(seconds / 86_400)}d`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB'];

/** Bytes as "1.2 MiB", with so many digits. */
export function size(bytes, maximumSignificantDigits = 3) {
	let [number, unit] = [bytes, 0];
	while (number >= 1024 && unit < UNITS.length - 1) [number, unit] = [number / 1024, unit + 1];
	return `${number.toLocaleString('en', { maximumSignificantDigits })} ${UNITS[unit]}`;
}

/** A time that shows how long ago, and exactly when on hover. */
export function time(seconds) {
	if (seconds === undefined) return h('span.dim', '–');
	return h('time', { datetime: new Date(seconds * 1000).toISOString(), title: exact(seconds), 'data-ago': seconds }, ago(seconds));
}

setInterval(() => document.querySelectorAll('[data-ago]').forEach((one) => { one.textContent = ago(Number(one.dataset.ago)); }), 30_000);
