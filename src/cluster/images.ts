/** Images of the node: brought in from archives with `ctr`, listed through the runtime's own interface. */
import { spawn } from 'node:child_process';
import { CommandError } from './command-error.ts';
import { findProgram, type Machine } from './requirements.ts';

/** containerd's namespace for what belongs to its CRI plugin. */
const criNamespace = 'k8s.io';

/** From an OCI or docker archive; `-` reads `input`. Resolves to the names of the images. */
export function importImages(
  machine: Machine,
  socket: string,
  file: string,
  input?: NodeJS.ReadableStream,
): Promise<string[]> {
  const ctr = findProgram(machine, 'ctr', ['/usr/bin', '/usr/local/bin']);
  if (!ctr)
    return Promise.reject(
      new CommandError('ctr, a part of containerd, is not installed.', 'Install the package containerd.'),
    );
  return new Promise((resolve, reject) => {
    const child = spawn(ctr, ['--address', socket, '--namespace', criNamespace, 'images', 'import', file], {
      stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      env: { PATH: machine.path.join(':') },
    });
    let output = '';
    let problem = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      problem += text;
    });
    if (input && child.stdin) {
      // The program may end before it has read everything.
      child.stdin.on('error', () => {});
      input.pipe(child.stdin);
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve(importedNames(output));
      reject(
        new CommandError(
          `the images in ${file === '-' ? 'standard input' : file} could not be imported: ${lastProblem(problem, code)}`,
          'Give an archive as `docker save` or `skopeo copy ... oci-archive:FILE` writes it.',
        ),
      );
    });
  });
}

/** `ctr` prints a line for each image: `unpacking NAME (sha256:...)...done`. */
export function importedNames(output: string): string[] {
  return [...output.matchAll(/^unpacking (\S+)/gm)].map((match) => match[1]!);
}

function lastProblem(text: string, code: number | null): string {
  const line = text.trim().split('\n').pop() ?? '';
  return line.replace(/^ctr: /, '') || `ctr ended with status ${code}`;
}
