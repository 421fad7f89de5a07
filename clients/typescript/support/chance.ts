/** Returns a source of whole numbers below what it is asked for, which are the same in each run. */
export function chances(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}
