// What the adapters share that tell words of others: what a framework takes of a message without a framework.
import { type Attachment, type Call, type Message, resultText } from "./conversation.js";
import { digest } from "./verbatim.js";

/** What the ids of messages of others begin with; the id of the event is behind it. */
export const OTHERS = "sessiond:";

// Names of tools and files that every model takes.
const NAME = /^[\w-]{1,64}$/;
const URL = /^https?:/;

/** A file for a model. */
export interface File {
  mimeType: string;
  /** Where it is, or what it is. */
  url: string;
  name?: string | undefined;
}

/** Words of others. */
export interface Words {
  id: string;
  role: "user" | "model";
  /** May be empty, if there are calls or files. */
  text: string;
  /** With ids that no other call has, also where frameworks count their own. */
  calls: (Call & { output: unknown })[];
  files: File[];
}

/** To whom they are told. */
export interface Listener {
  /** The name of the agent, whose words are its own, whatever framework it spoke in. */
  author?: string | undefined;
  /** Whether the agent has a tool of this name. Calls of others are told as text. By default it has all. */
  hasTool?: ((name: string) => boolean) | undefined;
  /** Which files of users the framework takes: by default all. */
  takesFile?: ((file: File) => boolean) | undefined;
}

/** Returns words of others, in order, each with the number of an event behind which it stands among a framework's own objects. */
export function told(messages: readonly Message[], listener: Listener): (Words & { at: number })[] {
  let next = Number.POSITIVE_INFINITY;
  // A summary is before what follows it there.
  const places = messages.toReversed().map(({ sequence }) => (next = Math.min(next, sequence)));
  return messages.map((message, n) => ({ ...wordsOf(message, listener), at: places.at(-1 - n) ?? 0 }));
}

/**
 * Returns words of others: what a model does not take is told as text. Before what another agent says is its name, so that a user, whose
 * words are a user's, cannot pass for it.
 */
export function wordsOf(message: Message, listener: Listener): Words {
  const { author: self, hasTool = () => true, takesFile = () => true } = listener;
  const { id, author, role, files } = message;
  const taken = message.calls.map(({ name }) => NAME.test(name) && hasTool(name));
  // Models take files of users alone.
  const given = files.map((each) => (role === "user" ? fileOf(each) : undefined));
  const urls = given.map((file) => (file && takesFile(file) ? file : undefined));
  const lines = [message.text];
  for (const [n, { name, args, result }] of message.calls.entries()) {
    if (!taken[n]) lines.push(`[called ${name}: ${JSON.stringify(args)}]`, `[${name} answered: ${resultText(result)}]`);
  }
  for (const [n, { name, mimeType, uri }] of files.entries()) {
    const known = [name, mimeType, uri].filter((each) => each !== undefined);
    if (urls[n] === undefined) lines.push(`[file: ${known.join(" ")}]`);
  }
  const text = lines.filter((line) => line !== "").join("\n");
  return {
    id: OTHERS + id,
    role,
    text: text === "" || role === "user" || author === self ? text : `[${author}] ${text}`,
    calls: message.calls.flatMap((call, n) =>
      taken[n] ? [{ ...call, id: digest(id, String(n), call.id), output: outputOf(call) }] : [],
    ),
    files: urls.filter((file) => file !== undefined),
  };
}

/** Returns a file that a model may read; undefined of one whose type or place it would not know. */
function fileOf({ name, mimeType, bytes, uri }: Attachment): File | undefined {
  const data = bytes && `data:${mimeType};base64,${Buffer.from(bytes).toString("base64")}`;
  const url = data ?? (uri !== undefined && URL.test(uri) ? uri : undefined);
  return mimeType === undefined || url === undefined ? undefined : { mimeType, url, name };
}

function outputOf({ result }: Call): unknown {
  const { result: only, ...rest } = result;
  return only === undefined || Object.keys(rest).length > 0 ? result : only;
}
