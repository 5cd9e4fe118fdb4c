/** Strings as CEL counts them: by code points, where JavaScript counts UTF-16 units. */

const isLeadSurrogate = (unit: number) => (unit & 0xfc00) === 0xd800;
const isTrailSurrogate = (unit: number) => (unit & 0xfc00) === 0xdc00;

export function codePointCount(text: string): number {
  let count = text.length;
  for (let i = 0; i + 1 < text.length; i++) {
    if (!isLeadSurrogate(text.charCodeAt(i)) || !isTrailSurrogate(text.charCodeAt(i + 1))) continue;
    count--;
    i++;
  }
  return count;
}

/** Order by code points, which differs from JavaScript's where a surrogate pair meets U+E000 to U+FFFF. */
export function compareStrings(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i++) {
    if (left.charCodeAt(i) !== right.charCodeAt(i)) return left.codePointAt(i)! - right.codePointAt(i)!;
  }
  return left.length - right.length;
}
