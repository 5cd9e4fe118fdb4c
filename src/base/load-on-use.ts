/**
 * Files that are loaded when they are first worked with: at once, since whoever asks is in the middle of something. What a start does not
 * need costs it nothing. Node.js loads each file once.
 */
import { createRequire } from 'node:module';

/** Of the folder that `moduleUrl` (`import.meta.url`) is in: what `file` there exports as `name`. */
export function loaderFrom(moduleUrl: string): <T>(file: string, name: string) => T {
  const require = createRequire(moduleUrl);
  /** Of the files as they lie here: `.ts`, or `.js` once compiled. */
  const extension = moduleUrl.slice(moduleUrl.lastIndexOf('.'));
  return <T>(file: string, name: string): T => {
    const module = require(`./${file.replace(/\.ts$/, extension)}`) as Readonly<Record<string, T>>;
    return module[name]!;
  };
}
