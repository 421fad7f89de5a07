package dev.sessiond.adk;

import java.util.function.Supplier;
import java.util.regex.Pattern;

/** The credential that requests show, asked for again when it is refused. */
final class Bearer {
  // What RFC 6750, section 2.1, lets a token consist of.
  private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

  /** A token, and how many there were: the supplier may give the same one twice. */
  record Token(String value, int version) {
    @Override
    public String toString() {
      return "Token[version=" + version + "]";
    }
  }

  private final Supplier<String> supplier;
  private Token token = new Token("", 0);

  /** A fixed token. Throws IllegalArgumentException, without the token, if it cannot be sent. */
  Bearer(String fixed) {
    supplier = null;
    token = new Token(checked(fixed), 1);
  }

  /** Asks for no token yet. */
  Bearer(Supplier<String> supplier) {
    this.supplier = supplier;
  }

  /** Whether there may be another token than one that was refused. */
  boolean renews() {
    return supplier != null;
  }

  /** Returns a token later than this version; asks once for all who wait for it. */
  synchronized Token laterThan(int version) {
    if (token.version() <= version) {
      token = new Token(checked(supplier.get()), token.version() + 1);
    }
    return token;
  }

  private static String checked(String token) {
    String stripped = token == null ? "" : token.strip();
    if (!TOKEN.matcher(stripped).matches()) {
      throw new IllegalArgumentException(
          "The token is empty, or has characters that no token has.");
    }
    return stripped;
  }
}
