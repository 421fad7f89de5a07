/** What an answer says about why a request failed. All of it is undefined if there was no answer. */
export interface Details {
  status?: number | undefined;
  code?: string | undefined;
  outcome?: string | undefined;
  requestId?: string | undefined;
  /** Of a `StaleError` and a `GoneError`. */
  revision?: number | undefined;
  /** Of a `GoneError`. */
  baseRevision?: number | undefined;
  /** Of a `BusyError`. */
  owner?: string | undefined;
  /** Of a `BusyError`. */
  expireTime?: Date | undefined;
  cause?: unknown;
}

/**
 * sessiond refused a request, or could not be reached for as long as the client keeps trying.
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
export class InputError extends SessiondError {}

/**
 * The credential is missing or was refused (status 401), does not allow the request (403), or the callback for it failed
 * (no status; its failure is the `cause`).
 */
export class AccessError extends SessiondError {}

/** There is no such session, event, key or file, or no more (status 404). */
export class NotFoundError extends SessiondError {}

/**
 * There is something else under that id (status 409): a session, another event, a version of a file. What is there was left
 * as it is.
 */
export class ConflictError extends SessiondError {}

/**
 * Somebody was faster: the session is not at the revision that the write asks for, a precondition does not hold (status 412), or
 * another turn has taken the lease (409, `fenced`). Nothing was written. Read again, and decide again.
 */
export class StaleError extends SessiondError {
  /** The revision of the session at that moment; undefined if the answer does not say it. */
  readonly revision: number | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details);
    this.revision = details.revision;
  }
}

/** Another turn has the session (status 409, `lease_held`). */
export class BusyError extends SessiondError {
  /** What names the process that has it. */
  readonly owner: string | undefined;
  /** When others may take it over, if that process writes nothing until then. */
  readonly expireTime: Date | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details);
    this.owner = details.owner;
    this.expireTime = details.expireTime;
  }
}

/**
 * It is not there any more (status 410): the place after which to follow a session, because that was deleted and made anew,
 * trimmed, or the database was restored to an earlier moment; a past that was trimmed; a user who was erased.
 */
export class GoneError extends SessiondError {
  /** The number of the last event that there is now. */
  readonly revision: number | undefined;
  /** The number of the last event that was trimmed; 0 if none was. */
  readonly baseRevision: number | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details);
    this.revision = details.revision;
    this.baseRevision = details.baseRevision;
  }
}
