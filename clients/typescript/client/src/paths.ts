import { nameOf, segment } from "./http.js";

/** The path of an app. */
export function appPath(app: string): string {
  return `/v1/apps${segment("name of the app", app)}`;
}

/** The path of a user of an app. */
export function userPath(app: string, user: string): string {
  return `${appPath(app)}/users${segment("id of the user", user)}`;
}

/** The path of the sessions of a user. */
export function sessionsPath(app: string, user: string): string {
  return `${userPath(app, user)}/sessions`;
}

/** The path of a session. White space around its id is no part of it. Throws `InputError` if the id is blank, or no text. */
export function sessionPath(app: string, user: string, id: string): string {
  return sessionsPath(app, user) + segment("id of the session", trimmedId(id));
}

/** Returns the id of a session without white space around it: what the server takes for it, which is not quite what JavaScript does. */
export function trimmedId(id: string): string {
  return nameOf("id of the session", id, true).replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");
}
