package dev.sessiond.adk;

/**
 * The session object is not what is stored any more: load the session again.
 *
 * <p>With {@link Concurrency#SESSION}, others have appended events since; with {@link
 * Concurrency#LEASE}, another turn has taken over from this one; of operators, a {@link
 * Precondition} does not hold. Nothing was written.
 */
public final class StaleSessionException extends SessiondException {
  private static final long serialVersionUID = 1;

  StaleSessionException(String message, SessiondException answer) {
    super(message, answer);
  }
}
