package dev.sessiond.adk;

/** Which events of a session are loaded. */
public enum History {
  /** All events, except what was rewound. */
  FULL,

  /**
   * Without what compactions cover, too. {@code numRecentEvents} counts what is left.
   *
   * <p>A runner finds nothing that is covered: a response to a call there needs {@link #FULL}, and
   * if the last reply is covered, the root agent goes on. A turn ({@link Concurrency#LEASE}) that
   * sees what others did loads all that is left.
   */
  EFFECTIVE
}
