/** The thread of `yaml-thread.ts`: reads one document at a time, and says what came of it. */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../apimachinery/status.ts';
import { yamlToJson } from '../../apimachinery/yaml-text.ts';

parentPort?.on('message', (text: string) => {
  try {
    parentPort?.postMessage({ conversion: yamlToJson(text) });
  } catch (error) {
    parentPort?.postMessage({ problem: messageOf(error) });
  }
});
