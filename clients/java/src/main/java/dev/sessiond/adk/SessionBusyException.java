package dev.sessiond.adk;

import java.time.Instant;
import java.util.Optional;

/** Another turn has the session, also after the wait. Nothing was written. */
public final class SessionBusyException extends SessiondException {
  private static final long serialVersionUID = 1;

  /** The holder, or null. */
  private final String owner;

  /** When others may take over, or null. */
  private final Instant expireTime;

  SessionBusyException(SessiondException answer, String owner, Instant expireTime) {
    super(
        "Another turn has the session"
            + (owner == null ? "" : ", of " + owner)
            + ". "
            + answer.getMessage(),
        answer);
    this.owner = owner;
    this.expireTime = expireTime;
  }

  /**
   * Returns what names the process that has it.
   *
   * @return empty if the server does not say
   */
  public Optional<String> owner() {
    return Optional.ofNullable(owner);
  }

  /**
   * Returns when others may take it over, if that process writes nothing until then.
   *
   * @return empty if the server does not say
   */
  public Optional<Instant> expireTime() {
    return Optional.ofNullable(expireTime);
  }
}
