import { type SessiondOptions, Sessions } from "../../src/core/index.js";

/** An event without a framework. */
export interface PlainEvent {
  id: string;
  author?: string;
  invocationId?: string;
  timestamp: number;
  partial?: boolean;
  actions: { stateDelta: Record<string, unknown> };
}

/** A session without a framework. */
export interface PlainSession {
  id: string;
  appName: string;
  userId: string;
  state: Record<string, unknown>;
  events: PlainEvent[];
  lastUpdateTime: number;
}

export type Plain = Sessions<PlainSession, PlainEvent>;

/** Sessions without a framework, for what does not depend on one. */
export function plain(options: SessiondOptions | string): Plain {
  return new Sessions<PlainSession, PlainEvent>(
    {
      ticks: 1,
      session: (fields) => fields,
      event: (fields) => fields as unknown as PlainEvent,
      written: (event) => ({ ...event }),
      state: (session) => session.state,
      assign: (session, set, removed) => {
        Object.assign(session.state, set);
        for (const key of removed) delete session.state[key];
      },
      applied: (session, event) => {
        Object.assign(session.state, event.actions.stateDelta);
        session.events.push(event);
      },
    },
    options,
  );
}

let made = 0;

/** An event with an id of its own. */
export function event(stateDelta: Record<string, unknown> = {}, invocationId = ""): PlainEvent {
  made += 1;
  return { id: `e${made}`, author: "user", invocationId, timestamp: made, actions: { stateDelta } };
}
