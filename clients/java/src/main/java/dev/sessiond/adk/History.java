package dev.sessiond.adk;

/** Which events of a session are loaded. */
public enum History {
  /** All events, except what was rewound. */
  FULL,

  /**
   * Without what compactions cover, too. {@code numRecentEvents} counts what is left.
   *
   * <p>If nothing limits the events, the last 100 are loaded in any case, covered or not: in these
   * a runner looks for the agent that goes on, and for calls that are answered. What else is
   * covered, it does not find: a response to a call there needs {@link #FULL}. A turn ({@link
   * Concurrency#LEASE}) that sees what others did loads all that is left.
   */
  EFFECTIVE
}
