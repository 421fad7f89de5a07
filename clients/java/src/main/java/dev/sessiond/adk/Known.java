package dev.sessiond.adk;

import java.util.concurrent.locks.ReentrantLock;

/** What is known of a session object. */
final class Known {
  /** Whose turn it is to append through it. */
  final ReentrantLock turn = new ReentrantLock(true);

  /** The revision up to which it has seen all events; -1 if it was not loaded here. */
  volatile long revision = -1;

  /** Its lease, if it has one. */
  volatile Leases.Turn lease;

  /**
   * Counts an event that was appended through the object.
   *
   * <p>A gap before it means that others appended events which the object has not seen. Then the
   * revision stays, and the object is stale.
   */
  void saw(long sequence) {
    if (sequence == revision + 1) {
      revision = sequence;
    }
  }
}
