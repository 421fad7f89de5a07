/**
 * A session service and an artifact service for Google's Agent Development Kit (ADK) that keep
 * sessions and files in sessiond.
 *
 * <p>{@link dev.sessiond.adk.SessiondSessionService} and {@link
 * dev.sessiond.adk.SessiondArtifactService} are what a runner takes; {@link dev.sessiond.adk.Ops}
 * is for tools and callbacks.
 */
package dev.sessiond.adk;
