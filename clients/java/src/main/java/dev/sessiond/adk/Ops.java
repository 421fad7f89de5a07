package dev.sessiond.adk;

import com.google.adk.agents.ReadonlyContext;
import io.reactivex.rxjava3.annotations.CheckReturnValue;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Single;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Atomic changes of state, for tools and callbacks.
 *
 * <p>To read a number from {@code toolContext.state()}, add one and put it back loses one of two
 * that do so at the same time. An operator is applied by the server to what is there, so none is
 * lost:
 *
 * <pre>{@code
 * public static Single<Map<String, Object>> placeOrder(
 *     @Schema(name = "item") String item, @Schema(name = "toolContext") ToolContext toolContext) {
 *   return Ops.increment(toolContext, "app:orders", 1).map(number -> Map.of("number", number));
 * }
 * }</pre>
 *
 * <p>Each is one event of the session, by the agent that is running, in the current invocation. It
 * is sent when the returned type is subscribed to, and stored when that succeeds; a tool that is
 * not reactive calls {@code blockingGet()}. The state of the context then shows the new value. It
 * is stored also if the tool fails afterwards. A key that the same tool also puts into the state of
 * its context ends with that value.
 *
 * <p>They fail as {@link SessiondSessionService#applyOps} does, which is the same for programs that
 * have a session and no context. With another session service than {@link SessiondSessionService}
 * they throw {@link IllegalStateException}: none of them could keep the promise.
 */
public final class Ops {
  private Ops() {}

  /**
   * Returns the operators for a change that has an id, the same in every run of the program: the
   * session makes a change of this id once. So a tool that died in the middle may run again:
   *
   * <pre>{@code
   * return Ops.once("number of " + order).increment(toolContext, "app:orders", 1);
   * }</pre>
   *
   * <p>Made again, a change changes nothing, and gives what it gave the first time. Each call needs
   * an id of its own: another change of the same id fails with the code {@code event_id_conflict}.
   *
   * @param id the id of the change, and of its event
   * @return the operators
   */
  public static Once once(String id) {
    return new Once(Objects.requireNonNull(id, "id"));
  }

  /**
   * Adds a number; an absent key is 0. Exact for integers of any size.
   *
   * @param context of a tool or callback
   * @param key the key, with its prefix
   * @param by what to add
   * @return the sum: Integer, Long, BigInteger, Double or BigDecimal, whichever has all its digits
   */
  @CheckReturnValue
  public static Single<Number> increment(ReadonlyContext context, String key, Number by) {
    return one(null, context, Op.increment(key, by)).map(Number.class::cast);
  }

  /**
   * Puts values at the end of a list; an absent key is an empty one.
   *
   * @param context of a tool or callback
   * @param key the key, with its prefix
   * @param values the values
   * @return the list
   */
  @CheckReturnValue
  public static Single<List<?>> append(ReadonlyContext context, String key, Object... values) {
    return one(null, context, Op.append(key, Arrays.asList(values))).map(Json::list);
  }

  /**
   * Puts those values at the end of a list that are not in it yet.
   *
   * @param context of a tool or callback
   * @param key the key, with its prefix
   * @param values the values
   * @return the list
   */
  @CheckReturnValue
  public static Single<List<?>> union(ReadonlyContext context, String key, Object... values) {
    return one(null, context, Op.union(key, Arrays.asList(values))).map(Json::list);
  }

  /**
   * Removes a key. An absent one stays absent.
   *
   * @param context of a tool or callback
   * @param key the key, with its prefix
   * @return completes when it is stored
   */
  @CheckReturnValue
  public static Completable remove(ReadonlyContext context, String key) {
    return apply(context, List.of(Op.remove(key))).ignoreElement();
  }

  /**
   * Applies several operators in order, all or none, and only if all preconditions hold: else it
   * fails with {@link StaleSessionException}.
   *
   * @param context of a tool or callback
   * @param ops what to do
   * @param preconditions what must hold for that
   * @return the values of the keys after it; a removed key is absent
   */
  @CheckReturnValue
  public static Single<Map<String, Object>> apply(
      ReadonlyContext context, List<Op> ops, Precondition... preconditions) {
    return apply(null, context, ops, preconditions);
  }

  private static Single<Map<String, Object>> apply(
      String once, ReadonlyContext context, List<Op> ops, Precondition... preconditions) {
    var invocation = context.invocationContext();
    if (!(invocation.sessionService() instanceof SessiondSessionService service)) {
      throw new IllegalStateException(
          "Ops needs a SessiondSessionService; the runner has a "
              + invocation.sessionService().getClass().getSimpleName()
              + ".");
    }
    return service.applyOps(
        invocation.session(),
        ops,
        List.of(preconditions),
        context.agentName(),
        context.invocationId(),
        once);
  }

  private static Single<Object> one(String once, ReadonlyContext context, Op op) {
    return apply(once, context, List.of(op)).map(values -> values.get(op.key()));
  }

  /** The operators for a change that is made once: see {@link Ops#once}. */
  public static final class Once {
    private final String id;

    private Once(String id) {
      this.id = id;
    }

    /**
     * Adds a number; an absent key is 0. Exact for integers of any size.
     *
     * @param context of a tool or callback
     * @param key the key, with its prefix
     * @param by what to add
     * @return the sum: Integer, Long, BigInteger, Double or BigDecimal, whichever has all its
     *     digits
     */
    @CheckReturnValue
    public Single<Number> increment(ReadonlyContext context, String key, Number by) {
      return one(id, context, Op.increment(key, by)).map(Number.class::cast);
    }

    /**
     * Puts values at the end of a list; an absent key is an empty one.
     *
     * @param context of a tool or callback
     * @param key the key, with its prefix
     * @param values the values
     * @return the list
     */
    @CheckReturnValue
    public Single<List<?>> append(ReadonlyContext context, String key, Object... values) {
      return one(id, context, Op.append(key, Arrays.asList(values))).map(Json::list);
    }

    /**
     * Puts those values at the end of a list that are not in it yet.
     *
     * @param context of a tool or callback
     * @param key the key, with its prefix
     * @param values the values
     * @return the list
     */
    @CheckReturnValue
    public Single<List<?>> union(ReadonlyContext context, String key, Object... values) {
      return one(id, context, Op.union(key, Arrays.asList(values))).map(Json::list);
    }

    /**
     * Removes a key. An absent one stays absent.
     *
     * @param context of a tool or callback
     * @param key the key, with its prefix
     * @return completes when it is stored
     */
    @CheckReturnValue
    public Completable remove(ReadonlyContext context, String key) {
      return apply(context, List.of(Op.remove(key))).ignoreElement();
    }

    /**
     * Applies several operators in order, all or none, and only if all preconditions hold: else it
     * fails with {@link StaleSessionException}.
     *
     * @param context of a tool or callback
     * @param ops what to do
     * @param preconditions what must hold for that
     * @return the values of the keys after it; a removed key is absent
     */
    @CheckReturnValue
    public Single<Map<String, Object>> apply(
        ReadonlyContext context, List<Op> ops, Precondition... preconditions) {
      return Ops.apply(id, context, ops, preconditions);
    }
  }
}
