/**
 * Loads beforehand whatever the simulated components load when they first need it: loading is real I/O, and virtual time does not wait for
 * it. Once loaded, an import is done within the microtasks of a step.
 */
import { existsSync, readdirSync } from 'node:fs';
import { once } from '../base/once.ts';
import { withOwnImports } from '../base/own-imports.ts';

const folders = ['api', 'apiserver', 'controllers', 'scheduler', 'kubelet', 'reconcile'];
/** Where the npm package has all of that. */
const packed = 'chunks';
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

/** Of every process once. */
export const loadComponents = once(() =>
  withOwnImports(async () => {
    for (const folder of existsSync(new URL(`../${packed}/`, import.meta.url)) ? [packed] : folders) {
      const root = new URL(`../${folder}/`, import.meta.url);
      const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isProduct).sort();
      for (const file of files) await import(new URL(file, root).href);
    }
  }),
);

function isProduct(file: string): boolean {
  return file.endsWith(extension) && !/\.(test|fixture|contract|d)\.ts$/.test(file);
}
