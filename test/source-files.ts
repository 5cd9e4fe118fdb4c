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

export interface ExportedFunction {
  readonly name: string;
  /** Each as it is written, with its type; a rest parameter is none. */
  readonly parameters: readonly string[];
}

export function exportedFunctions(text: string): ExportedFunction[] {
  const code = codeOf(text);
  return [...code.matchAll(/^export (?:default )?(?:async )?function\*? (\w+)/gm)].map((match) => {
    const from = match.index + match[0].length;
    const generics = code[from] === '<' ? enclosed(code, from).length + 2 : 0;
    const parameters = splitOutside(enclosed(code, from + generics));
    return { name: match[1]!, parameters: parameters.filter((parameter) => !parameter.startsWith('...')) };
  });
}

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '<': '>' };

/** What stands between the bracket at `start` and the one that closes it. */
function enclosed(code: string, start: number): string {
  const open: string[] = [];
  for (let at = start; at < code.length; at++) {
    const sign = code[at]!;
    if (sign in closing) open.push(closing[sign]!);
    else if (sign === open.at(-1) && !(sign === '>' && code[at - 1] === '=')) open.pop();
    if (open.length === 0) return code.slice(start + 1, at);
  }
  return code.slice(start + 1);
}

/** At the commas that stand in no brackets. */
function splitOutside(list: string): string[] {
  const parts = [''];
  for (let at = 0; at < list.length; at++) {
    const sign = list[at]!;
    if (sign === ',') parts.push('');
    else if (sign in closing) {
      const inside = enclosed(list, at);
      parts[parts.length - 1] += list.slice(at, at + inside.length + 2);
      at += inside.length + 1;
    } else parts[parts.length - 1] += sign;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}
