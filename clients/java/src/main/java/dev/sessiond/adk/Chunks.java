package dev.sessiond.adk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The body of an answer, piece by piece. The next piece is asked for when one is taken. */
final class Chunks implements Flow.Subscriber<List<ByteBuffer>>, AutoCloseable {
  /** A piece; the last one has none, and why there are no more if that is a failure. */
  private record Chunk(byte[] bytes, Throwable failure) {}

  private final Duration silence;
  private final BlockingQueue<Chunk> taken = new LinkedBlockingQueue<>();
  private volatile Flow.Subscription subscription;
  private volatile boolean closed;

  /** Takes the time without a byte after which the connection is given up; zero reads nothing. */
  Chunks(Duration silence) {
    this.silence = silence;
    this.closed = silence.isZero();
  }

  /** Returns the next piece; null at the end. */
  byte[] next() throws IOException, InterruptedException {
    Chunk chunk = taken.poll(silence.toMillis(), TimeUnit.MILLISECONDS);
    if (chunk == null) {
      throw new IOException("there was no byte for " + silence.toMillis() / 1000.0 + " s");
    }
    if (chunk.failure() != null) {
      throw new IOException("the connection broke", chunk.failure());
    }
    if (chunk.bytes() != null) {
      subscription.request(1);
    }
    return chunk.bytes();
  }

  @Override
  public void close() {
    closed = true;
    if (subscription != null) {
      subscription.cancel();
    }
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    this.subscription = subscription;
    if (closed) {
      subscription.cancel();
    } else {
      subscription.request(1);
    }
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    byte[] bytes = new byte[buffers.stream().mapToInt(ByteBuffer::remaining).sum()];
    int end = 0;
    for (ByteBuffer buffer : buffers) {
      int length = buffer.remaining();
      buffer.get(bytes, end, length);
      end += length;
    }
    taken.add(new Chunk(bytes, null));
  }

  @Override
  public void onError(Throwable failure) {
    taken.add(new Chunk(null, failure));
  }

  @Override
  public void onComplete() {
    taken.add(new Chunk(null, null));
  }
}
