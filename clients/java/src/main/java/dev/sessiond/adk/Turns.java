package dev.sessiond.adk;

import com.google.adk.agents.InvocationContext;
import com.google.adk.plugins.BasePlugin;
import io.reactivex.rxjava3.core.Completable;

/** Tells a service when an invocation is over. */
final class Turns extends BasePlugin {
  private final SessiondSessionService service;

  Turns(SessiondSessionService service) {
    super("sessiond_turns");
    this.service = service;
  }

  @Override
  public Completable afterRunCallback(InvocationContext context) {
    return service.closeSession(context.session());
  }

  @Override
  public Completable onRunErrorCallback(InvocationContext context, Throwable error) {
    return service.closeSession(context.session());
  }
}
