package dev.sessiond.adk;

import com.google.adk.sessions.Session;
import java.net.URI;
import java.util.Objects;
import java.util.regex.Pattern;

/** Where sessiond is, and where in it is what. */
final class Paths {
  private static final String URL_FORM =
      "The URL of sessiond is http://HOST:PORT or https://HOST, without a user, a query and a"
          + " fragment.";

  private Paths() {}

  /** The path of a session object. */
  static String of(Session session) {
    return session(user(session.appName(), session.userId()), session.id());
  }

  /** The path of a session of the user with that path. */
  static String session(String user, String sessionId) {
    return user + "/sessions" + Http.path(Http.SESSION, Http.trimmed(sessionId));
  }

  /** The path of the sessions of a user. */
  static String sessions(String appName, String userId) {
    return user(appName, userId) + "/sessions";
  }

  /** The path of a user. */
  static String user(String appName, String userId) {
    return "/v1/apps" + Http.path(Http.APP, appName) + "/users" + Http.path(Http.USER, userId);
  }

  /** Whether it is the id of no session; one that is null is a mistake. */
  static boolean isBlank(String sessionId) {
    return sessionId != null && Http.trimmed(sessionId).isEmpty();
  }

  /** Returns the URL without a slash at its end. A message shows nothing of one that is refused. */
  static String url(String url) {
    Objects.requireNonNull(url, "url");
    URI parts;
    try {
      parts = URI.create(url.strip());
    } catch (IllegalArgumentException notAUrl) {
      throw new IllegalArgumentException(URL_FORM);
    }
    if (parts.getRawUserInfo() != null || parts.getRawQuery() != null) {
      throw new IllegalArgumentException(
          URL_FORM + " Give a credential as `token`, or in the variable SESSIOND_TOKEN.");
    }
    boolean known = "http".equals(parts.getScheme()) || "https".equals(parts.getScheme());
    if (!known || parts.getHost() == null || parts.getRawFragment() != null) {
      throw new IllegalArgumentException(URL_FORM);
    }
    return Pattern.compile("/+$").matcher(url.strip()).replaceAll("");
  }
}
