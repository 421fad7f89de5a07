/** What an answer says about why a request failed. All of it is undefined if there was no answer. */
export interface Details {
  status?: number | undefined;
  code?: string | undefined;
  outcome?: string | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/**
 * sessiond refused a request, or could not be reached for as long as the service keeps trying.
 *
 * No message and no field of it holds a credential.
 */
export class SessiondError extends Error {
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined;
  /** sessiond's stable word for the error. */
  readonly code: string | undefined;
  /**
   * Of writes: `not_applied`, or `unknown` if it may have happened. To append the same event again is safe either way.
   */
  readonly outcome: string | undefined;
  /** What to look for in the server's log. */
  readonly requestId: string | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.status = details.status;
    this.code = details.code;
    this.outcome = details.outcome;
    this.requestId = details.requestId;
  }
}

/**
 * What was sent breaks a rule of sessiond (status 400, 413, 414, 415 or 422), or cannot be sent as JSON (no status).
 * Sending it again would not help.
 */
export class SessiondInputError extends SessiondError {}

/**
 * The credential is missing or was refused (status 401), does not allow the request (403), or the callback for it failed
 * (no status; its failure is the `cause`).
 */
export class SessiondAccessError extends SessiondError {}

/** There is no such session, or no more (status 404). */
export class SessionNotFoundError extends SessiondError {}

/** There is such a session already, or another event with that id in it (status 409). What is there was left as it is. */
export class AlreadyExistsError extends SessiondError {}

/**
 * The session object is out of date: others have appended to the session since it was read (status 412), another turn has
 * taken over (409), or a precondition does not hold (412). Nothing was written. Read the session again.
 */
export class StaleSessionError extends SessiondError {}

/** Another turn has the session (status 409). */
export class SessionBusyError extends SessiondError {
  /** What names the process that has it. */
  readonly owner: string | undefined;
  /** When others may take it over, if that process writes nothing until then. */
  readonly expireTime: Date | undefined;

  constructor(owner: string | undefined, expireTime: Date | undefined, details: Details) {
    super(`Another turn has the session${owner === undefined ? "" : `, of ${owner}`}.`, details);
    this.owner = owner;
    this.expireTime = expireTime;
  }
}

/**
 * The place after which to follow a session is not in its log any more (status 410): the session was deleted and made
 * anew, trimmed, or the database was restored to an earlier moment. Read the session again, and follow it from there.
 */
export class PositionGoneError extends SessiondError {
  /** The number of the last event that there is now. */
  readonly revision: number | undefined;
  /** The number of the last event that was trimmed; 0 if none was. */
  readonly baseRevision: number | undefined;

  constructor(message: string, details: Details, revision: number | undefined, baseRevision: number | undefined) {
    super(message, details);
    this.revision = revision;
    this.baseRevision = baseRevision;
  }
}
