/**
 * `npm run build`: the npm package, whole, in `dist/`, from where it is packed and published (`npm pack ./dist`): JavaScript
 * (package-code.ts), declarations (package-types.ts), the tables that are read at run time, and a package.json whose entry points are
 * those of the sources, as they are there. Why, see docs/adr/0006-package.md.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { writeCode } from './package-code.ts';
import { writeTypes } from './package-types.ts';

const root = resolve(import.meta.dirname, '..');
const sources = join(root, 'src');
const target = join(root, 'dist');

/** What `./coracle` of the repository starts. */
const command = './src/cli/main.ts';

interface PackageFile extends Readonly<Record<string, unknown>> {
  readonly exports: Readonly<Record<string, string>>;
}

const { scripts, devDependencies, ...published } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as PackageFile;

/** From `./src/testing/index.ts` to `./testing/index`. */
const emitted = (source: string) => source.replace(/^\.\/src\//, './').replace(/\.ts$/, '');

rmSync(target, { recursive: true, force: true });
mkdirSync(target);

const entries = [command, ...Object.values(published.exports)].flatMap((source) =>
  globSync(`${emitted(source).slice(2)}.ts`, { cwd: sources }),
);
await writeCode(sources, target, entries);
writeTypes(root, target, entries);
for (const table of globSync('**/gen/*.json', { cwd: sources })) {
  mkdirSync(dirname(join(target, table)), { recursive: true });
  cpSync(join(sources, table), join(target, table));
}
for (const page of ['README.md', 'CHANGELOG.md', 'LICENSE']) cpSync(join(root, page), join(target, page));
const packageFile = {
  ...published,
  bin: { coracle: `${emitted(command)}.js` },
  exports: Object.fromEntries(
    Object.entries(published.exports).map(([name, source]) => [
      name,
      { types: `${emitted(source)}.d.ts`, default: `${emitted(source)}.js` },
    ]),
  ),
};
writeFileSync(join(target, 'package.json'), `${JSON.stringify(packageFile, undefined, 2)}\n`);
