package dev.sessiond.adk;

/** What happens when several writers append to one session. */
public enum Concurrency {
  /**
   * Appends are unconditional: events of several writers interleave, and for each key the last
   * writer wins.
   */
  NONE,

  /**
   * An append fails with {@link StaleSessionException} if others have appended events since the
   * session object was loaded. Nothing is written then; load the session again.
   */
  SESSION,

  /**
   * The invocations of a session take turns, those of all services that say so, in all processes.
   * See {@link SessiondSessionService#turns()}, which a runner needs for it.
   */
  LEASE
}
