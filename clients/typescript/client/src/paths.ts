import { InputError } from "./errors.js";
import { segments } from "./http.js";

/** The path of an app. */
export function appPath(app: string): string {
  return `/v1/apps${segments(app)}`;
}

/** The path of a user of an app. */
export function userPath(app: string, user: string): string {
  return `${appPath(app)}/users${segments(user)}`;
}

/** The path of the sessions of a user. */
export function sessionsPath(app: string, user: string): string {
  return `${userPath(app, user)}/sessions`;
}

/** The path of a session. White space around its id is no part of it. Throws `InputError` if the id is blank. */
export function sessionPath(app: string, user: string, id: string): string {
  const trimmed = id.trim();
  if (trimmed === "") throw new InputError("The id of the session is empty.");
  return sessionsPath(app, user) + segments(trimmed);
}
