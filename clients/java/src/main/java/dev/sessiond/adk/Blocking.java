package dev.sessiond.adk;

import io.opentelemetry.context.Context;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.core.SingleOnSubscribe;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.concurrent.Callable;

/** Work that blocks, among what is reactive. */
final class Blocking {
  private Blocking() {}

  /** Runs work that blocks on a thread for that, with the caller's trace; to dispose interrupts. */
  static <T> Single<T> io(Callable<T> work) {
    return Single.defer(
        () -> Single.create(emit(Context.current().wrap(work))).subscribeOn(Schedulers.io()));
  }

  /** Whether a thread is one of the few on which all that is reactive runs. */
  static boolean mustNotWait(Thread thread) {
    // RxJava documents these names, and tells it in no other public way.
    return thread.getName().startsWith("RxComputationThreadPool-")
        || thread.getName().startsWith("RxSingleScheduler-");
  }

  /** Emits what work returns, or how it fails. */
  static <T> SingleOnSubscribe<T> emit(Callable<T> work) {
    return emitter -> {
      try {
        emitter.onSuccess(work.call());
      } catch (Throwable error) {
        // Also such as a class that is missing: RxJava would let the thread die of it, and the
        // subscriber wait for ever.
        emitter.tryOnError(error);
      }
    };
  }
}
