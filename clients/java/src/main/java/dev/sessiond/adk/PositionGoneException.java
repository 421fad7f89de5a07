package dev.sessiond.adk;

/**
 * The place after which to follow a session is not in its log any more (status 410).
 *
 * <p>The session was deleted and made anew, its log was trimmed, or the database was restored to an
 * earlier moment. Read the session again, and follow it from there.
 */
public final class PositionGoneException extends SessiondException {
  private static final long serialVersionUID = 1;

  /** The number of the last event. */
  private final long revision;

  /** The number of the last event that was trimmed. */
  private final long baseRevision;

  PositionGoneException(SessiondException answer, long revision, long baseRevision) {
    super(answer.getMessage(), answer);
    this.revision = revision;
    this.baseRevision = baseRevision;
  }

  /**
   * Returns the number of the last event that there is now.
   *
   * @return 0 if there is none
   */
  public long revision() {
    return revision;
  }

  /**
   * Returns the number of the last event that was trimmed.
   *
   * @return 0 if none was
   */
  public long baseRevision() {
    return baseRevision;
  }
}
