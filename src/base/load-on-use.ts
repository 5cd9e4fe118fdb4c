/**
 * Files that are loaded when they are first worked with: at once, since whoever asks is in the middle of something. What a start does not
 * need costs it nothing. Node.js loads each file once.
 */
import { createRequire } from 'node:module';
import { ownExtension } from './own-imports.ts';

/**
 * Of the folder that `moduleUrl` (`import.meta.url`) is in: what `file` there exports as `name`. The caller writes each such path as one text,
 * `'core/v1/pod.ts'`: by it the build finds what may be loaded.
 */
export function loaderFrom(moduleUrl: string): <T>(file: string, name: string) => T {
  const require = createRequire(moduleUrl);
  return <T>(file: string, name: string): T => {
    const module = require(`./${file.replace(/\.ts$/, ownExtension)}`) as Readonly<Record<string, T>>;
    return module[name]!;
  };
}
