/** `maxSurge: 25%` and its kind: a number, or a percentage of a total. */

/** Upstream's scaled value; undefined when the text is neither a number nor a percentage. */
export function scaledValue(value: number | string | undefined, total: number, roundUp: boolean): number | undefined {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  const percent = /^([0-9]+)%$/.exec(value)?.[1];
  if (percent === undefined) return undefined;
  const exact = (Number(percent) * total) / 100;
  return roundUp ? Math.ceil(exact) : Math.floor(exact);
}
