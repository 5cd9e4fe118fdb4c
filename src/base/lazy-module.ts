/**
 * Packages that are loaded when they are first needed: an embedded control plane must be ready in a fraction of a second and rarely
 * reads YAML. The loading is synchronous and cached by Node.js itself.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const yamlLibrary = (): typeof import('yaml') => require('yaml') as typeof import('yaml');
