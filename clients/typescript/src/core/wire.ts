import { isObject, type JsonObject, record } from "./json.js";
import type { Dialect, EventShape, SessionShape } from "./session.js";

const TEMP = "temp:";

// What some frameworks have in `actions` always, and others only if it is not empty.
const MAPS = ["stateDelta", "artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations"] as const;

/** Of an event that was read: the names of the fields that the stored event has, and of those in its `actions`. */
const read = new WeakMap<object, { fields: ReadonlySet<string>; actions: ReadonlySet<string> }>();

/** Returns a time in the framework's unit for Unix seconds; microseconds survive. */
export function fromSeconds(seconds: number, ticks: 1 | 1000): number {
  return ticks === 1 ? seconds : Math.round(seconds * 1e6) / 1e3;
}

/** Returns Unix seconds for a time in the framework's unit. */
export function toSeconds(time: number, ticks: 1 | 1000): number {
  return ticks === 1 ? time : Math.round(time * 1e3) / 1e6;
}

/** Returns the framework's event for one that sessiond answered, without what the server adds. */
export function eventFromWire<S extends SessionShape<E>, E extends EventShape>(
  dialect: Dialect<S, E>,
  stored: JsonObject,
): E {
  const { sequence: _, commitTime: __, ...fields } = stored;
  const actions = isObject(fields["actions"]) ? fields["actions"] : {};
  const event = dialect.event({
    ...fields,
    timestamp: fromSeconds(Number(stored["timestamp"]), dialect.ticks),
    actions: { ...actions, stateDelta: record(actions["stateDelta"] as JsonObject | undefined) },
  });
  read.set(event, { fields: new Set(Object.keys(fields)), actions: new Set(Object.keys(actions)) });
  return event;
}

/** Returns an event as sessiond takes it, without `temp:` keys. The event is left as it is. */
export function eventToWire<S extends SessionShape<E>, E extends EventShape>(
  dialect: Dialect<S, E>,
  event: E,
): JsonObject {
  const known = read.get(event);
  const { actions: given, ...fields } = dialect.written(event, known !== undefined);
  const actions: JsonObject = isObject(given) ? { ...given } : {};
  actions["stateDelta"] = stateToWire((actions["stateDelta"] as JsonObject | undefined) ?? {});
  if (event.timestamp !== undefined) fields["timestamp"] = toSeconds(event.timestamp, dialect.ticks);
  const wire = { ...fields, actions };
  if (known === undefined) {
    // The same from each framework, so that an event is known again that another one of them has written.
    for (const name of MAPS) actions[name] ??= {};
    drop(wire, (name) => name === "longRunningToolIds");
  } else {
    // As it was read, so that the server knows it when it is appended again: without what the framework adds.
    drop(actions, (name) => !known.actions.has(name));
    drop(wire, (name) => !known.fields.has(name));
  }
  return wire;
}

/** Takes the fields away that are empty and that the predicate names. */
function drop(fields: JsonObject, predicate: (name: string) => boolean): void {
  for (const [name, value] of Object.entries(fields)) {
    const parts = typeof value === "object" && value !== null ? Object.values(value) : undefined;
    const empty = value === "" || parts?.every((part) => part === undefined);
    if (empty && predicate(name)) delete fields[name];
  }
}

/** Returns state as JSON, without `temp:` keys. What is undefined is stored as null: JSON has no undefined. */
export function stateToWire(state: JsonObject): JsonObject {
  const kept = Object.entries(state).filter(([key]) => !key.startsWith(TEMP));
  return record(Object.fromEntries(kept.map(([key, value]) => [key, value === undefined ? null : value])));
}

/** Returns the `temp:` keys of a state, and their values. */
export function temporary(state: JsonObject): JsonObject {
  return record(Object.fromEntries(Object.entries(state).filter(([key]) => key.startsWith(TEMP))));
}
