/**
 * Packages that are loaded when they are first needed: an embedded control plane must be ready in a fraction of a second and rarely
 * reads YAML. The loading is synchronous and cached by Node.js itself. Among them `node:http`, since importing it as a module reads all its
 * properties, and one of them is a whole other client (20 ms).
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const yamlLibrary = (): typeof import('yaml') => require('yaml') as typeof import('yaml');
export const webSocketLibrary = (): typeof import('ws') => require('ws') as typeof import('ws');
export const jsonPatchLibrary = (): typeof import('fast-json-patch') =>
  require('fast-json-patch') as typeof import('fast-json-patch');
export const httpModule = (): typeof import('node:http') => require('node:http') as typeof import('node:http');
