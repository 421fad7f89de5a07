// What the adapters of frameworks keep in an event beside what was said (docs/frameworks.md), in words.

const FRAMEWORKS = {
	langgraph: { title: 'LangGraph' },
	openai: { title: 'OpenAI Agents', kind: ['item', 'type'] },
	claude: { title: 'Claude Agent', kind: ['entry', 'type'] },
	strands: { title: 'Strands', kind: ['number'] },
	pydantic: { title: 'Pydantic AI', kind: ['entry', 'message', 'kind'] },
	aiSdk: { title: 'Vercel AI SDK', kind: ['message', 'role'] },
	openai_usage: { title: 'Requests of a run', kind: ['requests'] },
};
const HEAD = /^lg\/[^/]*\//; // of the key of a channel of LangGraph

const unpacked = (json) => json?.get('json') ?? json?.get('value');
/** Without the channels that LangGraph makes for itself. */
const named = (channels) => channels.filter((name) => name && !/^(branch:|start:|__start__|__pregel)/.test(name)).map((name) => name.replace(/^__|__$/g, ''));

/** What a framework keeps in an event: { title, json, text, isStep, step }; `step` names the invocation of a checkpoint of LangGraph. */
export function recordOf(json) {
	const metadata = json.get('customMetadata');
	const name = Object.keys(FRAMEWORKS).find((one) => metadata?.get(one)?.kind === 'object');
	if (!name) return undefined;
	const [{ title, kind }, kept] = [FRAMEWORKS[name], metadata.get(name)];
	return { title, json: kept, ...(kind ? { text: `${title}: ${kept.string(...kind) ?? kept.at(...kind)?.text ?? 'kept'}` } : graph(kept, json)) };
}

function graph(kept, json) {
	const writes = kept.get('writes')?.items;
	if (writes) {
		const channels = named(writes.map(({ items }) => items[1]?.string()));
		const said = writes.length === 1 && unpacked(writes[0].items[2])?.text.slice(0, 200);
		return { isStep: true, text: `wrote ${channels.join(', ') || 'nothing'}${said ? `: ${said}` : ''}` };
	}
	if (!kept.get('checkpoint')) return { isStep: true, text: 'checkpoint dropped' };
	const keys = json.at('actions', 'stateDelta')?.members ?? [];
	const channels = named(keys.filter(({ value }) => !value.get('none')).map(({ key }) => key.string().replace(HEAD, '')));
	const step = unpacked(kept.get('metadata'))?.get('step')?.text ?? '';
	return { isStep: true, text: channels.join(', ') || 'no channel', step: `checkpoint ${step}, ${channels.length} channel${channels.length === 1 ? '' : 's'}` };
}

/** A value of a channel of LangGraph for one line: without the version, which comes first; `none` of an empty channel. */
export function glance(key, json) {
	if (!HEAD.test(key)) return json;
	if (json.get('none')) return { kind: 'literal', text: 'none' };
	return ['json', 'value', 'text', 'artifact', 't'].map((one) => json.get(one)).find(Boolean) ?? json;
}

// Where tokens are counted, and the names of the counts: of the prompt, which are added, of what was cached of it, and of the output.
const USAGES = [
	[[], 'usageMetadata', ['promptTokenCount', 'toolUsePromptTokenCount'], ['cachedContentTokenCount'], ['candidatesTokenCount', 'thoughtsTokenCount'], 'modelVersion'],
	[['customMetadata'], 'openai_usage', ['input_tokens'], ['input_tokens_details.cached_tokens'], ['output_tokens']],
	[['customMetadata', 'claude', 'entry', 'message'], 'usage', ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'], ['cache_read_input_tokens'], ['output_tokens'], 'model', 'id'],
	[['customMetadata', 'pydantic', 'entry', 'message'], 'usage', ['input_tokens'], ['cache_read_tokens'], ['output_tokens'], 'model_name'],
	[['customMetadata', 'strands', 'message', 'message', 'metadata'], 'usage', ['inputTokens'], ['cacheReadInputTokens'], ['outputTokens']],
];

/** Tokens: { prompt, cached, output, model, id } of one answer of a model; answers that have the same `id` are one. */
export function usageOf(json) {
	for (const [place, name, ...counts] of USAGES) {
		const where = json.at(...place);
		const usage = where?.get(name);
		if (usage?.kind !== 'object') continue;
		const [prompt, cached, output] = counts.slice(0, 3).map((names) => names.reduce((all, one) => all + (usage.number(...one.split('.')) ?? 0), 0));
		return prompt + output > 0 ? { prompt, cached, output, model: counts[3] && where.string(counts[3]), id: counts[4] && where.string(counts[4]) } : undefined;
	}
	return undefined;
}
