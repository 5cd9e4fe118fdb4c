/**
 * `coracle`: one of its own verbs, or a component under its upstream name with its upstream flags. Problems that a person can solve are
 * told in two lines; anything else is a bug and shows its stack.
 */
import { enableCompileCache } from 'node:module';
import { ownExtension, withOwnImports } from '../base/own-imports.ts';
import { CommandError } from '../cluster/command-error.ts';

const components = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'];

// The code of a start is kept compiled, and stacks name the sources: as the launcher in the repository sees to.
enableCompileCache();
if (ownExtension === '.js') process.setSourceMapsEnabled(true);
// Whatever still waits for something (a timer, an idle connection) must not keep a finished command.
process.exit(await withOwnImports(() => run(process.argv.slice(2))));

/** Resolves to the exit status. */
async function run(words: readonly string[]): Promise<number> {
  const [first = ''] = words;
  try {
    if (components.includes(first)) {
      const { runComponentCommand } = await import('../cluster/components/command.ts');
      return await runComponentCommand(first, words.slice(1));
    }
    const { runCommand } = await import('./commands.ts');
    return await runCommand(words);
  } catch (error) {
    process.stderr.write(
      error instanceof CommandError
        ? `coracle: ${error.message}\n${error.advice}\n`
        : `coracle: unexpected: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    return 1;
  }
}
