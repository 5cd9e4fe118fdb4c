/**
 * `coracle`: one of its own verbs, or a component under its upstream name with its upstream flags. Problems that a person can solve are
 * told in two lines; anything else is a bug and shows its stack.
 */
import { CommandError } from '../cluster/command-error.ts';

const words = process.argv.slice(2);
const components = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'];

let status: number;
try {
  if (components.includes(words[0] ?? '')) {
    const { runComponentCommand } = await import('../cluster/components/command.ts');
    status = await runComponentCommand(words[0] ?? '', words.slice(1));
  } else {
    const { runCommand } = await import('./commands.ts');
    status = await runCommand(words);
  }
} catch (error) {
  if (error instanceof CommandError) {
    process.stderr.write(`coracle: ${error.message}\n${error.advice}\n`);
  } else {
    process.stderr.write(`coracle: unexpected: ${error instanceof Error ? error.stack : String(error)}\n`);
  }
  status = 1;
}
// Whatever still waits for something (a timer, an idle connection) must not keep a finished command.
process.exit(status);
