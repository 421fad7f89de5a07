package dev.sessiond.adk;

import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends requests that may be sent twice, and does so if an answer does not come. Its methods block,
 * and end early when their thread is interrupted.
 */
final class Http {
  private static final Logger logger = LoggerFactory.getLogger(SessiondSessionService.class);

  private static final String USER_AGENT = "sessiond-java/0.1.0";

  /**
   * Refused for now (429, 503), or no word from the server (the others, of which proxies make 502
   * and 504).
   */
  static final Set<Integer> RETRIED = Set.of(408, 429, 502, 503, 504);

  private static final int MAX_TRIES = 5;

  // Before the first retry, four times as long before each further one up to the second, and spread
  // by jitter: five tries outlast some 12 s.
  private static final Duration FIRST_WAIT = Duration.ofMillis(200);
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(8);

  /** What these are divided by. A test makes them shorter. */
  static volatile int pace = 1;

  private final String url;
  private final Bearer bearer;
  private final Duration callTimeout;
  private final Duration retryFor;
  private final HttpClient client;

  /** Takes a URL without a slash at its end, and a credential, or null. */
  Http(
      String url,
      Bearer bearer,
      Duration connectTimeout,
      Duration callTimeout,
      Duration retryFor,
      SSLContext tls) {
    this.url = url;
    this.bearer = bearer;
    this.callTimeout = callTimeout;
    this.retryFor = retryFor;
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            // Without the upgrade to HTTP/2 that the client would ask for in clear text.
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(connectTimeout);
    if (tls != null) {
      builder.sslContext(tls);
    }
    this.client = builder.build();
  }

  /** A body that is sent as it is; the type is null if there is none. */
  record Payload(byte[] bytes, String type) {}

  /**
   * A request: its path is encoded, see {@link #path}; the body is a {@link Payload}, something
   * that is sent as JSON, or null.
   */
  record Call(
      String method,
      String path,
      Map<String, String> query,
      Object body,
      Map<String, String> headers,
      Duration patience,
      boolean wantsBytes) {
    static Call of(String method, String path) {
      return new Call(method, path, Map.of(), null, Map.of(), Duration.ZERO, false);
    }

    Call query(Map<String, String> query) {
      return new Call(method, path, query, body, headers, patience, wantsBytes);
    }

    Call body(Object body) {
      return new Call(method, path, query, body, headers, patience, wantsBytes);
    }

    Call headers(Map<String, String> headers) {
      return new Call(method, path, query, body, headers, patience, wantsBytes);
    }

    /** For which the server is asked to hold the answer back, on top of the time for a call. */
    Call patience(Duration patience) {
      return new Call(method, path, query, body, headers, patience, wantsBytes);
    }

    /** A success is bytes, and not JSON. */
    Call forBytes() {
      return new Call(method, path, query, body, headers, patience, true);
    }

    /** Whether how long it takes depends on how many bytes there are. */
    boolean transfers() {
      return wantsBytes || body instanceof Payload;
    }

    boolean writes() {
      return !method.equals("GET");
    }
  }

  /**
   * An answer that is final: a success, or an error that the same request would meet again. The
   * bytes are those of a success that was asked for as such.
   */
  record Reply(
      int status, HttpHeaders headers, Map<String, Object> body, byte[] bytes, String asked) {
    /** Returns sessiond's word for the error; empty for a success. */
    String code() {
      String code = status >= 400 ? Json.text(body, "code") : null;
      return code == null ? "" : code;
    }

    SessiondException error() {
      return new SessiondException(
          said(status, body) + " " + asked + ".", null, status, body, null);
    }

    /** Returns the body of a success, and throws otherwise. */
    Map<String, Object> success() {
      if (status == 204 || ((status == 200 || status == 201) && !body.isEmpty())) {
        return body;
      }
      if (status < 400) {
        throw new SessiondException(
            "The answer with status " + status + " is not sessiond's. " + asked + ".",
            null,
            status,
            Map.of(),
            null);
      }
      throw error();
    }
  }

  /**
   * Sends a request, which has the same effect when it is sent twice, until there is a final answer
   * or no time for another attempt.
   *
   * @throws SessiondException if there was no final answer in time, or the credential was refused
   * @throws IllegalArgumentException if the body cannot be written as JSON
   */
  Reply send(Call call) {
    Payload body = null;
    if (call.body() instanceof Payload payload) {
      body = payload;
    } else if (call.body() != null) {
      body = new Payload(Json.bytes(call.body()), "application/json");
    }
    long began = System.nanoTime();
    Duration budget = retryFor.plus(call.patience());
    String asked = call.method() + " " + url + call.path();
    boolean inDoubt = false;
    for (int attempt = 1; ; attempt++) {
      Duration pause = min(FIRST_WAIT.multipliedBy(1L << 2 * (attempt - 1)), LONGEST_WAIT);
      Duration wait = jitter(pause.dividedBy(pace));
      Duration limit = callTimeout.plus(call.patience());
      if (attempt > 1) {
        limit = min(limit, budget.minus(since(began)));
      }
      int status = 0;
      Map<String, Object> answer = Map.of();
      Throwable cause = null;
      String said;
      try {
        var progress = new AtomicLong();
        HttpResponse<byte[]> response =
            authorized(call, body, bytes(progress), limit, progress, ignored -> {});
        status = response.statusCode();
        boolean isBytes = call.wantsBytes() && status == 200;
        answer = isBytes ? Map.of() : Json.object(response.body());
        if (status == 401 || status == 403) {
          // It speaks of this attempt; those before may have been applied.
          throw denied(call, status, answer, asked, inDoubt);
        }
        if (!RETRIED.contains(status) && !"unknown".equals(Json.text(answer, "outcome"))) {
          byte[] bytes = isBytes ? response.body() : new byte[0];
          return new Reply(status, response.headers(), answer, bytes, asked);
        }
        inDoubt |= !"not_applied".equals(Json.text(answer, "outcome"));
        said = said(status, answer);
        wait = max(wait, retryAfter(response.headers()));
      } catch (IOException error) {
        cause = error;
        inDoubt |= !(error instanceof ConnectException || neverSent(error));
        said = notReached(error);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw failure("Interrupted: " + asked + ".", error, call, 0, Map.of(), true);
      }
      boolean isLast = attempt == MAX_TRIES || since(began).plus(wait).compareTo(budget) >= 0;
      if (!isLast) {
        logger.warn(
            "{}: attempt {} failed, trying again in {} ms: {}",
            asked,
            attempt,
            wait.toMillis(),
            said);
        try {
          Thread.sleep(wait.toMillis());
        } catch (InterruptedException error) {
          Thread.currentThread().interrupt();
          throw failure("Interrupted: " + asked + ".", error, call, status, answer, inDoubt);
        }
        // On a busy machine a wait takes longer. An attempt without time would only put the outcome
        // in doubt.
        isLast = since(began).compareTo(budget) >= 0;
      }
      if (isLast) {
        String tries = attempt == 1 ? "1 attempt" : attempt + " attempts";
        String message =
            "%s Gave up %s after %s in %.1f s."
                .formatted(said, asked, tries, since(began).toMillis() / 1000.0);
        throw failure(message, cause, call, status, answer, inDoubt);
      }
    }
  }

  /** Opens a stream, once, with a connection of its own; its body is the caller's to read. */
  HttpResponse<Flow.Publisher<List<ByteBuffer>>> open(Call call)
      throws IOException, InterruptedException {
    return authorized(
        call,
        null,
        BodyHandlers.ofPublisher(),
        callTimeout,
        new AtomicLong(),
        response -> response.body().subscribe(new Chunks(Duration.ZERO)));
  }

  /** Reads what answers in place of a stream. */
  Reply read(Call call, HttpResponse<Flow.Publisher<List<ByteBuffer>>> response)
      throws IOException, InterruptedException {
    try (Chunks chunks = new Chunks(callTimeout)) {
      response.body().subscribe(chunks);
      var bytes = new java.io.ByteArrayOutputStream();
      for (byte[] chunk = chunks.next(); chunk != null; chunk = chunks.next()) {
        bytes.writeBytes(chunk);
      }
      Map<String, Object> answer = Json.object(bytes.toByteArray());
      String asked = call.method() + " " + url + call.path();
      if (response.statusCode() == 401 || response.statusCode() == 403) {
        throw denied(call, response.statusCode(), answer, asked, false);
      }
      return new Reply(response.statusCode(), response.headers(), answer, new byte[0], asked);
    }
  }

  String url(String path) {
    return url + path;
  }

  /** Sends a request with the token, and once more if that is refused and there can be another. */
  private <T> HttpResponse<T> authorized(
      Call call,
      Payload body,
      BodyHandler<T> handler,
      Duration limit,
      AtomicLong progress,
      java.util.function.Consumer<HttpResponse<T>> discard)
      throws IOException, InterruptedException {
    if (bearer == null) {
      return once(call, body, handler, limit, progress, null);
    }
    Bearer.Token token = token(call, 0);
    HttpResponse<T> response = once(call, body, handler, limit, progress, token.value());
    if (response.statusCode() == 401 && bearer.renews()) {
      discard.accept(response);
      token = token(call, token.version());
      response = once(call, body, handler, limit, progress, token.value());
    }
    return response;
  }

  private Bearer.Token token(Call call, int version) {
    try {
      return bearer.laterThan(version);
    } catch (RuntimeException error) {
      String message =
          "The supplier of the token failed: "
              + error.getClass().getSimpleName()
              + ". "
              + call.method()
              + " "
              + url
              + call.path()
              + ".";
      throw failure(message, error, call, 0, Map.of(), false);
    }
  }

  private <T> HttpResponse<T> once(
      Call call,
      Payload body,
      BodyHandler<T> handler,
      Duration limit,
      AtomicLong progress,
      String token)
      throws IOException, InterruptedException {
    StringBuilder target = new StringBuilder(url).append(call.path());
    char separator = '?';
    for (Map.Entry<String, String> parameter : call.query().entrySet()) {
      target.append(separator).append(parameter.getKey()).append('=');
      target.append(URLEncoder.encode(parameter.getValue(), StandardCharsets.UTF_8));
      separator = '&';
    }
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(target.toString()))
            .header("User-Agent", USER_AGENT)
            .method(call.method(), publisher(body, progress));
    if (body != null && body.type() != null) {
      request.header("Content-Type", body.type());
    }
    call.headers().forEach(request::header);
    W3CTraceContextPropagator.getInstance()
        .inject(Context.current(), request, HttpRequest.Builder::setHeader);
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    // A timeout of the request itself would end with the headers of the answer.
    progress.set(System.nanoTime());
    CompletableFuture<HttpResponse<T>> answer = client.sendAsync(request.build(), handler);
    try {
      long began = progress.get();
      while (true) {
        // How long bytes take depends on how many there are: of them, silence ends an attempt.
        Duration spent = since(call.transfers() ? progress.get() : began);
        try {
          return answer.get(limit.minus(spent).toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
          if (!call.transfers() || since(progress.get()).compareTo(limit) >= 0) {
            answer.cancel(true);
            String what = call.transfers() ? "no byte for " : "no answer within ";
            throw new IOException("there was " + what + limit.toMillis() / 1000.0 + " s");
          }
        }
      }
    } catch (InterruptedException error) {
      answer.cancel(true);
      throw error;
    } catch (ExecutionException error) {
      if (error.getCause() instanceof IOException io) {
        throw io;
      }
      throw new IOException(error.getCause());
    }
  }

  /** Sends a body, and notes when a piece of it was taken. */
  private static BodyPublisher publisher(Payload body, AtomicLong progress) {
    if (body == null || body.bytes().length == 0) {
      return BodyPublishers.noBody();
    }
    BodyPublisher whole = BodyPublishers.ofByteArray(body.bytes());
    return BodyPublishers.fromPublisher(
        subscriber -> whole.subscribe(new Observed<>(subscriber, progress)), body.bytes().length);
  }

  /** Reads a body, and notes when a piece of it came. */
  private static BodyHandler<byte[]> bytes(AtomicLong progress) {
    return info -> {
      BodySubscriber<byte[]> whole = BodySubscribers.ofByteArray();
      return BodySubscribers.fromSubscriber(
          new Observed<>(whole, progress), done -> whole.getBody().toCompletableFuture().join());
    };
  }

  /** Notes when something passes. */
  private record Observed<T>(Flow.Subscriber<? super T> to, AtomicLong progress)
      implements Flow.Subscriber<T> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      to.onSubscribe(subscription);
    }

    @Override
    public void onNext(T piece) {
      progress.set(System.nanoTime());
      to.onNext(piece);
    }

    @Override
    public void onError(Throwable failure) {
      to.onError(failure);
    }

    @Override
    public void onComplete() {
      to.onComplete();
    }
  }

  private SessiondException denied(
      Call call, int status, Map<String, Object> answer, String asked, boolean inDoubt) {
    String message = said(status, answer) + " " + asked + ".";
    if (status == 401 && bearer == null) {
      message += " No token was sent: give `token`, or set SESSIOND_TOKEN.";
    }
    return failure(message, null, call, status, answer, inDoubt);
  }

  private static SessiondException failure(
      String message,
      Throwable cause,
      Call call,
      int status,
      Map<String, Object> answer,
      boolean inDoubt) {
    String outcome = !call.writes() ? null : inDoubt ? "unknown" : "not_applied";
    return new SessiondException(message, cause, status, answer, outcome);
  }

  /** The names that stand in paths; the text says what they are of. */
  static final String APP = "name of the app";

  static final String USER = "id of the user";
  static final String SESSION = "id of the session";
  static final String FILE = "name of the file";
  static final String EVENT = "id of the event";

  /**
   * Returns a name as a segment of a path, with its slash before it, percent-encoded.
   *
   * @throws SessiondException if it is no name: none, empty, dots alone, or no text of Unicode; the
   *     path would be that of something else
   */
  static String path(String what, String name) {
    StringBuilder path = new StringBuilder("/");
    for (byte unit : named(what, name).getBytes(StandardCharsets.UTF_8)) {
      char letter = (char) (unit & 0xff);
      boolean plain =
          letter < 128 && (Character.isLetterOrDigit(letter) || "-_.~".indexOf(letter) >= 0);
      path.append(plain ? String.valueOf(letter) : "%%%02X".formatted((int) letter));
    }
    return path.toString();
  }

  /** Returns a name, and throws as {@link #path} does. */
  static String named(String what, String name) {
    String fault = null;
    if (name == null) {
      fault = "is null: it has to be a text";
    } else if (name.isEmpty()) {
      fault = "is empty";
    } else if (name.equals(".") || name.equals("..")) {
      fault = "is \"" + name + "\", which would address another path";
    } else if (!StandardCharsets.UTF_8.newEncoder().canEncode(name)) {
      fault = "has half of a character: a surrogate without its partner";
    }
    if (fault != null) {
      throw new SessiondException(
          "The " + what + " " + fault + ".",
          null,
          0,
          Map.of("code", "invalid_argument"),
          "not_applied");
    }
    return name;
  }

  /** Returns the id of a session without white space around it; null if it is. */
  static String trimmed(String sessionId) {
    return sessionId == null ? null : AROUND.matcher(sessionId).replaceAll("");
  }

  // What the server takes for white space, which is not what {@link String#strip} does.
  private static final Pattern AROUND =
      Pattern.compile("^\\p{IsWhite_Space}+|\\p{IsWhite_Space}+$");

  static String said(int status, Map<String, Object> body) {
    String code = Json.text(body, "code");
    String detail = Json.text(body, "detail");
    detail = detail == null ? Json.text(body, "title") : detail;
    return "sessiond answered %d%s: %s."
        .formatted(
            status,
            code == null ? "" : " " + code,
            detail == null ? "the answer is not sessiond's" : detail.replaceAll("\\.$", ""));
  }

  /** Says that there was no answer. */
  static String notReached(IOException error) {
    // That a connection is refused has no text.
    Throwable why = error;
    while (why.getMessage() == null && why.getCause() != null) {
      why = why.getCause();
    }
    if (why.getMessage() == null) {
      why = error;
    }
    return "sessiond cannot be reached: %s%s."
        .formatted(
            why.getClass().getSimpleName(),
            why.getMessage() == null ? "" : ": " + why.getMessage().replaceAll("\\.$", ""));
  }

  /** Returns the time that the answer asks to wait for, which proxies may say as a date. */
  static Duration retryAfter(HttpHeaders headers) {
    String value = headers.firstValue("Retry-After").orElse("0");
    try {
      return Duration.ofMillis((long) (Math.max(0, Double.parseDouble(value)) * 1000));
    } catch (NumberFormatException notSeconds) {
      try {
        var date = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME);
        return max(Duration.ZERO, Duration.between(ZonedDateTime.now(date.getZone()), date));
      } catch (DateTimeParseException neither) {
        return Duration.ZERO;
      }
    }
  }

  /** Whether the request never left this process. */
  private static boolean neverSent(IOException error) {
    return error instanceof HttpConnectTimeoutException
        || error.getCause() instanceof ConnectException;
  }

  private static Duration since(long began) {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private static Duration jitter(Duration wait) {
    return Duration.ofMillis(
        (long) (wait.toMillis() * ThreadLocalRandom.current().nextDouble(1, 1.5)));
  }

  static Duration min(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  static Duration max(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }
}
