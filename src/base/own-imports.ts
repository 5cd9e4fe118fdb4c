/**
 * Loads this package's own modules faster. Node.js looks up every `import` of every file on disk (does it exist, is it a link, which
 * package.json rules it), which takes as long as compiling them; our imports are whole relative paths that need no looking up. While
 * `load` runs, imports between files of this package are resolved by joining the paths, and all others as ever.
 */
import { registerHooks } from 'node:module';

/** The folder of all sources, as a URL; ends with a slash. */
const root = new URL('..', import.meta.url).href;
/** Of the files of this package: `.ts` as written, `.js` once built. */
export const ownExtension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const format = ownExtension === '.ts' ? 'module-typescript' : 'module';

/** Awaits `load`, typically a dynamic import of much. */
export async function withOwnImports<T>(load: () => Promise<T>): Promise<T> {
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      const { parentURL } = context;
      const isOwn = specifier.startsWith('.') && specifier.endsWith(ownExtension) && parentURL?.startsWith(root);
      if (!isOwn) return nextResolve(specifier, context);
      return { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
    },
  });
  try {
    return await load();
  } finally {
    hooks.deregister();
  }
}
