/**
 * Code that is loaded when it is first needed: an embedded control plane must be ready in a fraction of a second and rarely reads YAML.
 * Our own files come with the first call of the function that a server has of them (`onFirstCall`). Packages come synchronously. Both are
 * cached by Node.js itself. Among the packages stands `node:http`, since importing it as a module reads all its properties, and one of them
 * is a whole other client (20 ms).
 */
import { createRequire } from 'node:module';
import { withOwnImports } from './own-imports.ts';

/** The function that `load` resolves with, typically from a dynamic import: loaded by the first call, called directly from then on. */
export function onFirstCall<A extends readonly unknown[], R>(
  load: () => Promise<(...args: A) => Promise<R> | R>,
): (...args: A) => Promise<R> {
  let loaded: ((...args: A) => Promise<R> | R) | undefined;
  return async (...args) => {
    loaded ??= await withOwnImports(load);
    return loaded(...args);
  };
}

const require = createRequire(import.meta.url);

export const yamlLibrary = (): typeof import('yaml') => require('yaml') as typeof import('yaml');
export const webSocketLibrary = (): typeof import('ws') => require('ws') as typeof import('ws');
export const httpModule = (): typeof import('node:http') => require('node:http') as typeof import('node:http');
