/**
 * A session service for Google's Agent Development Kit (ADK) that keeps sessions in sessiond.
 *
 * <p>{@link dev.sessiond.adk.SessiondSessionService} is what a runner takes; {@link
 * dev.sessiond.adk.Ops} is for tools and callbacks.
 */
package dev.sessiond.adk;
