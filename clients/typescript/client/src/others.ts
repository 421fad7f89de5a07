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
  /** With the name of an agent before it, unless it is that of the adapter. */
  text: string;
  /** With ids that no other call has, also where frameworks count their own. */
  calls: (Call & { output: unknown })[];
  files: File[];
}

/** Returns words of others: what a model does not take is told as text. */
export function wordsOf({ id, author, role, text, calls, files }: Message, self?: string): Words {
  const taken = calls.filter(({ name }) => NAME.test(name));
  const told = calls.filter(({ name }) => !NAME.test(name));
  const urls = files.map(fileOf);
  const lines = [
    text,
    ...told.flatMap(({ name, args, result }) => [
      `[called ${name}: ${JSON.stringify(args)}]`,
      `[${name} answered: ${resultText(result)}]`,
    ]),
    ...files.flatMap(({ name, mimeType, uri }, n) => (urls[n] ? [] : [`[${name ?? uri ?? mimeType ?? "file"}]`])),
  ].filter((line) => line !== "");
  const isNamed = role === "user" || author === self;
  return {
    id: OTHERS + id,
    role,
    text: lines.length === 0 || isNamed ? lines.join("\n") : `${author}: ${lines.join("\n")}`,
    calls: taken.map((call, n) => ({ ...call, id: digest(id, String(n)), output: outputOf(call) })),
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
