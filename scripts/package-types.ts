/** The declarations of the package's entry points, and of what they mention: by `tsc`, which would emit those of all that is imported. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** `entries` are paths in `src/`; each gets its declarations at the same place in `target`. */
export function writeTypes(root: string, target: string, entries: readonly string[]): void {
  const emitted = mkdtempSync(join(tmpdir(), 'coracle-types-'));
  try {
    const project = join(root, 'tsconfig.declarations.json');
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project, '--outDir', emitted], { stdio: 'inherit' });
    const written = new Set<string>();
    const write = (file: string): void => {
      if (written.has(file)) return;
      written.add(file);
      const declared = file.replace(/\.ts$/, '.d.ts');
      const text = readFileSync(join(emitted, declared), 'utf8');
      mkdirSync(dirname(join(target, declared)), { recursive: true });
      writeFileSync(join(target, declared), text.replace(relativeImport, '$1$2.js$3'));
      for (const [, , path] of text.matchAll(relativeImport)) write(join(dirname(file), `${path}.ts`));
    };
    for (const entry of entries) if (!entry.startsWith('cli/')) write(entry);
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
}

/** `from './x.ts'` and `import('./x.ts')`. */
const relativeImport = /(\b(?:from|import) ?\(?')(\.[^']+)\.ts(')/g;
