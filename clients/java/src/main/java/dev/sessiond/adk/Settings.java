package dev.sessiond.adk;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/**
 * The settings of a service, and their defaults.
 *
 * @param <B> the builder that has them
 */
abstract class Settings<B extends Settings<B>> {
  String url;
  String token;
  Supplier<String> tokenSupplier;
  Concurrency concurrency = Concurrency.NONE;
  History history = History.FULL;
  Duration leaseWait = Duration.ofMinutes(5);
  Duration leaseTtl = Duration.ofSeconds(60);
  Duration connectTimeout = Duration.ofSeconds(2);
  Duration callTimeout = Duration.ofSeconds(15);
  Duration retryFor = Duration.ofSeconds(30);
  Duration watchSilence = Duration.ofSeconds(45);
  SSLContext sslContext;

  /**
   * Sets where sessiond is.
   *
   * @param url {@code http://HOST:PORT} or {@code https://HOST}, with a path if a proxy puts it
   *     under one; no credential is allowed in it
   * @return this
   */
  public B url(String url) {
    this.url = url;
    return self();
  }

  /**
   * Sets the credential: an API key, a user token or a JWT, sent as {@code Authorization: Bearer
   * TOKEN}.
   *
   * @param token by default that of the variable {@code SESSIOND_TOKEN}, which is read when the
   *     service is built; {@code ""} is none, whatever the variable says
   * @return this
   */
  public B token(String token) {
    this.token = token;
    return self();
  }

  /**
   * Sets what gives the credential. It is called for the first request, its token is kept, and it
   * is called again when the server refuses that one (401): once for all requests that wait, each
   * of which is then sent once more.
   *
   * @param tokenSupplier may block; if it fails, so does the request
   * @return this
   */
  public B tokenSupplier(Supplier<String> tokenSupplier) {
    this.tokenSupplier = tokenSupplier;
    return self();
  }

  /**
   * Sets what happens when several writers append to one session.
   *
   * @param concurrency by default {@link Concurrency#NONE}
   * @return this
   */
  public B concurrency(Concurrency concurrency) {
    this.concurrency = Objects.requireNonNull(concurrency, "concurrency");
    return self();
  }

  /**
   * Sets which events of a session are loaded.
   *
   * @param history by default {@link History#FULL}
   * @return this
   */
  public B history(History history) {
    this.history = Objects.requireNonNull(history, "history");
    return self();
  }

  /**
   * Sets how long to wait for the turn of another invocation, with {@link Concurrency#LEASE}.
   *
   * @param leaseWait by default 5 minutes; with zero, {@link SessionBusyException} comes at once
   * @return this
   */
  public B leaseWait(Duration leaseWait) {
    this.leaseWait = Objects.requireNonNull(leaseWait, "leaseWait");
    return self();
  }

  /**
   * Sets for how long after the last event of an invocation none can take over from it. One that
   * was superseded stores no event any more.
   *
   * @param leaseTtl 1 s to 15 minutes; by default 60 s
   * @return this
   */
  public B leaseTtl(Duration leaseTtl) {
    this.leaseTtl = Objects.requireNonNull(leaseTtl, "leaseTtl");
    return self();
  }

  /**
   * Sets how long a connection may take to be made.
   *
   * @param connectTimeout by default 2 s
   * @return this
   */
  public B connectTimeout(Duration connectTimeout) {
    this.connectTimeout = Objects.requireNonNull(connectTimeout, "connectTimeout");
    return self();
  }

  /**
   * Sets how long one attempt may take, until the last byte of its answer; of one with the bytes of
   * an artifact, how long none may come or go.
   *
   * @param callTimeout by default 15 s
   * @return this
   */
  public B callTimeout(Duration callTimeout) {
    this.callTimeout = Objects.requireNonNull(callTimeout, "callTimeout");
    return self();
  }

  /**
   * Sets how long a request is tried again, at most 5 times, if it found no connection, got no
   * answer, or was refused for now: with growing pauses and never sooner than {@code Retry-After}
   * says. No attempt goes beyond it.
   *
   * @param retryFor by default 30 s; zero tries once
   * @return this
   */
  public B retryFor(Duration retryFor) {
    this.retryFor = Objects.requireNonNull(retryFor, "retryFor");
    return self();
  }

  /**
   * Sets whom to trust, for {@code https:}.
   *
   * @param sslContext by default that of the JDK
   * @return this
   */
  public B sslContext(SSLContext sslContext) {
    this.sslContext = sslContext;
    return self();
  }

  /** For tests. */
  B watchSilence(Duration watchSilence) {
    this.watchSilence = watchSilence;
    return self();
  }

  /** Returns this. */
  abstract B self();
}
