// What an operator makes of a value, for the preview: the same rules as the server's, on JSON text and without rounding.

import { compose, quote, read } from './json.js';

export const OPERATORS = {
  set: { about: 'Replaces the value.', example: '"value"' },
  increment: { about: 'Adds a number, exactly. A missing key counts as 0.', example: '1' },
  append: { about: 'Adds elements at the end of an array.', example: '["element"]' },
  union: { about: 'Adds the elements that are not there yet.', example: '["element"]' },
  max: { about: 'Keeps the greater number.', example: '1' },
  min: { about: 'Keeps the smaller number.', example: '1' },
  merge: { about: 'Replaces members of an object; null removes one (RFC 7396).', example: '{"name":"value"}' },
  remove: { about: 'Removes the key.' },
};

/** The new text of the value, undefined if the key goes. Throws an Error if the operator does not fit. */
export function result(operator, current, operand) {
  const need = (kind, value, whose) => {
    if (value && value.kind !== kind) throw new Error(`${operator} needs ${kind === 'number' ? 'a' : 'an'} ${kind}; the ${whose} is none.`);
  };
  if (operator === 'remove') return undefined;
  if (operator === 'set') return operand.text;
  const kind = { increment: 'number', max: 'number', min: 'number', append: 'array', union: 'array', merge: 'object' }[operator];
  need(kind, operand, 'operand');
  need(kind, current, 'current value');
  if (operator === 'increment') return add(current?.text ?? '0', operand.text);
  if (operator === 'merge') return merge(current, operand);
  if (kind === 'number') {
    if (!current) return operand.text;
    const order = difference(operand.text, current.text);
    return (operator === 'max' ? order > 0n : order < 0n) ? operand.text : current.text;
  }
  const items = [...(current?.items ?? [])];
  for (const item of operand.items) {
    if (operator === 'append' || !items.some((other) => canonical(other) === canonical(item))) items.push(item);
  }
  return `[${items.map((item) => item.text).join(',')}]`;
}

/** { digits: BigInt, decimals }: the number is digits / 10^decimals. */
function decimal(text) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  const power = Number(exponent);
  const decimals = Math.max(0, fraction.length - power);
  const zeros = Math.max(0, power - fraction.length);
  if (decimals > 1500 || zeros > 1500) throw new Error('This number is too long for a preview.');
  return { digits: BigInt(sign + whole + fraction + '0'.repeat(zeros)), decimals };
}

function aligned(left, right) {
  const [a, b] = [decimal(left), decimal(right)];
  const decimals = Math.max(a.decimals, b.decimals);
  const scale = (one) => one.digits * 10n ** BigInt(decimals - one.decimals);
  return { a: scale(a), b: scale(b), decimals };
}

function difference(left, right) {
  const { a, b } = aligned(left, right);
  return a - b;
}

function add(left, right) {
  const { a, b, decimals } = aligned(left, right);
  const sum = a + b;
  const digits = (sum < 0n ? -sum : sum).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return `${sum < 0n ? '-' : ''}${whole}${decimals ? `.${digits.slice(-decimals)}` : ''}`;
}

function merge(current, patch) {
  if (patch.kind !== 'object') return patch.text;
  const members = new Map(current?.kind === 'object' ? current.members.map(({ key, value }) => [key.string(), value]) : []);
  for (const { key, value } of patch.members) {
    const name = key.string();
    if (value.text === 'null') members.delete(name);
    else members.set(name, value.kind === 'object' ? read(merge(members.get(name), value)) : value);
  }
  return `{${[...members].map(([name, value]) => `${quote(name)}:${value.text}`).join(',')}}`;
}

/** A text that is the same for equal JSON values. */
function canonical(json) {
  if (json.kind === 'number') {
    const { digits, decimals } = decimal(json.text);
    let [whole, left] = [digits, decimals];
    while (left > 0 && whole % 10n === 0n) [whole, left] = [whole / 10n, left - 1];
    return `${whole}/${left}`;
  }
  if (json.kind === 'string') return quote(json.string());
  if (json.kind === 'array') return `[${json.items.map(canonical).join(',')}]`;
  if (json.kind !== 'object') return json.text;
  const members = json.members.map(({ key, value }) => [key.string(), canonical(value)]).sort(([a], [b]) => (a < b ? -1 : 1));
  return compose(Object.fromEntries(members.map(([name, text]) => [`=${name}`, text])));
}
