/**
 * Newline-delimited JSON, decoded as it arrives: the form of a watch's body. Whole lines are decoded where they lie in their chunk;
 * only a line that spans chunks is put together first.
 */
import { parseJson } from '../apimachinery/exact-json.ts';

const newline = 0x0a;

/** The values of all lines. A last line without a newline is a value too if it is whole, and dropped if it was cut off. */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<unknown, void, undefined> {
  let pending: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const part = chunk.subarray(start, end);
      const line = pending.length === 0 ? part : Buffer.concat([...pending, part]);
      if (pending.length > 0) pending = [];
      start = end + 1;
      if (line.length > 0) yield parseJson(line.toString());
    }
    if (start < chunk.length) pending.push(start === 0 ? chunk : chunk.subarray(start));
  }
  const rest = Buffer.concat(pending).toString().trim();
  if (rest === '') return;
  try {
    yield parseJson(rest);
  } catch {
    // The connection ended in the middle of an event: the reader goes on from the last one it has seen.
  }
}
