package dev.sessiond.adk;

import com.google.adk.sessions.SessionException;
import java.util.Map;
import java.util.Optional;

/**
 * sessiond refused a request, or could not be reached for as long as the service keeps trying.
 *
 * <p>That a session does not exist is ADK's {@link com.google.adk.sessions.SessionNotFoundException
 * SessionNotFoundException}, with one of these as its cause. The message never has a credential in
 * it.
 */
public class SessiondException extends SessionException {
  private static final long serialVersionUID = 1;

  /** The HTTP status; 0 if there was no answer. */
  private final int status;

  /** sessiond's word, or null. */
  private final String code;

  /** What to look for in the server's log, or null. */
  private final String requestId;

  /** Whether a write happened, or null. */
  private final String outcome;

  SessiondException(
      String message, Throwable cause, int status, Map<String, Object> body, String outcome) {
    super(message, cause);
    this.status = status;
    this.code = Json.text(body, "code");
    this.requestId = Json.text(body, "requestId");
    this.outcome = outcome == null ? Json.text(body, "outcome") : outcome;
  }

  SessiondException(String message, SessiondException answer) {
    super(message, answer);
    this.status = answer.status;
    this.code = answer.code;
    this.requestId = answer.requestId;
    this.outcome = answer.outcome;
  }

  /**
   * Returns the HTTP status of the last answer.
   *
   * @return 0 if there was no answer
   */
  public int status() {
    return status;
  }

  /**
   * Returns sessiond's stable word for the error.
   *
   * @return such as {@code invalid_argument}; empty if sessiond did not answer
   */
  public Optional<String> code() {
    return Optional.ofNullable(code);
  }

  /**
   * Returns what to look for in the server's log.
   *
   * @return empty if sessiond did not answer
   */
  public Optional<String> requestId() {
    return Optional.ofNullable(requestId);
  }

  /**
   * Returns whether a write happened.
   *
   * @return {@code not_applied}, or {@code unknown} if it may have happened: then append the same
   *     event again, which is safe; empty if it was no write
   */
  public Optional<String> outcome() {
    return Optional.ofNullable(outcome);
  }
}
