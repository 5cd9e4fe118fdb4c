/**
 * Parts of this folder that are loaded when they are first worked with: at once, since whoever asks is in the middle of a request.
 * Node.js loads each file once.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
/** Of the files as they lie here: `.ts`, or `.js` once compiled. */
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

/** What `file`, named from this folder, exports as `name`. */
export function loadOnUse<T>(file: string, name: string): T {
  const module = require(`./${file.replace(/\.ts$/, extension)}`) as Readonly<Record<string, T>>;
  return module[name]!;
}
