/** The project's own TypeScript sources, as the tests about the code itself read them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const projectRoot = resolve(import.meta.dirname, '..');

export interface SourceFile {
  /** Relative to the project's root, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface ImportStatement {
  readonly specifier: string;
  /** Path relative to the root for a relative import; undefined for a package or built-in. */
  readonly target: string | undefined;
  readonly dynamic: boolean;
  readonly typeOnly: boolean;
}

/** All `.ts` files (and `.tsx`) below `folder`. */
export function sourceFiles(folder: string): SourceFile[] {
  const files: SourceFile[] = [];
  const walk = (directory: string) => {
    for (const name of readdirSync(directory).sort()) {
      const path = join(directory, name);
      if (name === 'node_modules') continue;
      if (statSync(path).isDirectory()) walk(path);
      else if (/\.tsx?$/.test(name))
        files.push({ path: relative(projectRoot, path), text: readFileSync(path, 'utf8') });
    }
  };
  walk(join(projectRoot, folder));
  return files;
}

const importPattern =
  /(?:^|\n)\s*(import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

export function importsOf(file: SourceFile): ImportStatement[] {
  const found: ImportStatement[] = [];
  for (const match of file.text.matchAll(importPattern)) {
    const specifier = match[3] ?? match[4] ?? '';
    const target = specifier.startsWith('.')
      ? relative(projectRoot, resolve(projectRoot, dirname(file.path), specifier))
      : undefined;
    found.push({ specifier, target, dynamic: match[4] !== undefined, typeOnly: match[2] !== undefined });
  }
  return found;
}

/** Text without comments and without the contents of string literals, so that words in prose do not count as code. */
export function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[^:'"`\\])\/\/[^\n]*/g, '$1');
}
