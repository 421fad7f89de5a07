// MessagePack, as far as it is read: what programs in Python have written.

/** Returns the object that a type of one's own stands for. */
export type Extension = (code: number, bytes: Uint8Array) => unknown;

/**
 * Returns the value of MessagePack. Numbers are doubles: an integer beyond 2^53 is rounded. Keys of maps become texts.
 *
 * @throws RangeError if the bytes end too early, or have what MessagePack does not have.
 */
export function unpackMessage(bytes: Uint8Array, extension: Extension): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  /** Goes on by so many bytes, and returns where it was. */
  const skip = (count: number): number => {
    at += count;
    return at - count;
  };
  const raw = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new RangeError("The MessagePack ends too early.");
    return bytes.subarray(skip(length), at);
  };
  const text = (length: number): string => Buffer.from(raw(length)).toString("utf8");
  const list = (length: number): unknown[] => {
    const found: unknown[] = [];
    for (let n = 0; n < length; n += 1) found.push(value());
    return found;
  };
  const map = (length: number): Record<string, unknown> => {
    const pairs: [string, unknown][] = [];
    for (let n = 0; n < length; n += 1) pairs.push([String(value()), value()]);
    return Object.fromEntries(pairs);
  };
  const extended = (length: number): unknown => extension(view.getInt8(skip(1)), raw(length));
  const byte = (): number => view.getUint8(skip(1));
  const short = (): number => view.getUint16(skip(2));
  const long = (): number => view.getUint32(skip(4));
  const kinds: Record<number, () => unknown> = {
    192: () => null,
    194: () => false,
    195: () => true,
    196: () => raw(byte()),
    197: () => raw(short()),
    198: () => raw(long()),
    199: () => extended(byte()),
    200: () => extended(short()),
    201: () => extended(long()),
    202: () => view.getFloat32(skip(4)),
    203: () => view.getFloat64(skip(8)),
    204: byte,
    205: short,
    206: long,
    207: () => Number(view.getBigUint64(skip(8))),
    208: () => view.getInt8(skip(1)),
    209: () => view.getInt16(skip(2)),
    210: () => view.getInt32(skip(4)),
    211: () => Number(view.getBigInt64(skip(8))),
    212: () => extended(1),
    213: () => extended(2),
    214: () => extended(4),
    215: () => extended(8),
    216: () => extended(16),
    217: () => text(byte()),
    218: () => text(short()),
    219: () => text(long()),
    220: () => list(short()),
    221: () => list(long()),
    222: () => map(short()),
    223: () => map(long()),
  };
  const value = (): unknown => {
    const kind = byte();
    if (kind < 128) return kind;
    if (kind < 144) return map(kind - 128);
    if (kind < 160) return list(kind - 144);
    if (kind < 192) return text(kind - 160);
    if (kind >= 224) return kind - 256;
    const read = kinds[kind];
    if (read === undefined) throw new RangeError("The MessagePack has a kind of value that there is not.");
    return read();
  };
  return value();
}
