// Turns: the events of one invocation in a row, and what they cost, as far as they are loaded.

import { dialog, h } from './dom.js';
import { span } from './times.js';

/** Each { first, invocation, events }; `first` is a sequence. */
export function turnsOf(events) {
	const turns = [];
	for (const event of events) {
		const last = turns.at(-1);
		if (last?.invocation === event.invocation) last.events.push(event);
		else turns.push({ first: event.sequence, invocation: event.invocation, events: [event] });
	}
	return turns;
}

const COUNTS = ['prompt', 'cached', 'output'];

/** { prompt, cached, output, seconds } of a turn, which is added to its models. */
function costOf({ events, invocation }, models = new Map()) {
	const cost = { prompt: 0, cached: 0, output: 0, seconds: invocation ? Math.max(0, events.at(-1).time - events[0].time) : 0 };
	const seen = new Set();
	for (const { usage } of events) {
		if (!usage || seen.has(usage.id)) continue;
		if (usage.id !== undefined) seen.add(usage.id);
		const model = usage.model ?? 'no model named';
		if (!models.has(model)) models.set(model, { prompt: 0, cached: 0, output: 0 });
		for (const total of [cost, models.get(model)]) for (const name of COUNTS) total[name] += usage[name];
	}
	return cost;
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const timed = (seconds) => seconds > 0 && span(seconds).slice(1);

/** "1.2K in, 340 out, 4.1s"; without tokens the seconds alone. */
function brief({ prompt, output, seconds }) {
	return [prompt + output > 0 && `${compact.format(prompt)} in, ${compact.format(output)} out`, timed(seconds)].filter(Boolean).join(', ');
}

export const costText = (turn) => brief(costOf(turn));

/** What turns cost: a button that tells more, hidden where no event has tokens. */
export class Cost {
	element = h('button.quiet.cost', { hidden: true, title: 'Tokens and time of turns', click: () => this.#open() });

	/** `some` is which events are loaded, if not all are. */
	draw(turns, some) {
		const models = new Map();
		const costs = turns.map((turn) => costOf(turn, models));
		const all = Object.fromEntries([...COUNTS, 'seconds'].map((name) => [name, costs.reduce((sum, cost) => sum + cost[name], 0)]));
		Object.assign(this, { some, models, all });
		this.element.hidden = models.size === 0;
		this.element.textContent = `${some ? 'loaded: ' : ''}${brief(all)}`;
	}

	#open() {
		const { some, models, all } = this;
		const line = (name, cost) => h('tr', h('td', name), COUNTS.map((count) => h('td.number', cost[count].toLocaleString('en'))));
		dialog('Cost',
			h('p', some ? `Of ${some}; the others are not loaded.` : 'Of all events.', all.seconds > 0 && ` Turns took ${timed(all.seconds)}, each from its first event to its last.`),
			h('div', h('table', h('thead', h('tr', ['Model', 'Prompt', 'Cached', 'Output'].map((one, index) => h(index ? 'th.number' : 'th', { scope: 'col' }, one)))),
				h('tbody', [...models].map(([model, cost]) => line(h('bdi', model), cost)), line('All', all)))));
	}
}
