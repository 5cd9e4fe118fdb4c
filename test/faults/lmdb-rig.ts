/** One API server over its embedded store. */
import {
  awhile,
  clockStepped,
  cutFromClients,
  endedInOrder,
  type Fault,
  Field,
  frozen,
  killed,
  killedOnFullDisk,
  killedTimeAndAgain,
  pause,
  type Rig,
} from './rig.ts';

const address = '10.99.0.1';

export function lmdbRig(): Promise<Rig> {
  const field = new Field([address]);
  const disk = field.disk('store', 192);
  const servers = [field.apiServer('server', address, [`--data-dir=${disk.path}/data`], disk)];
  const full: Fault = {
    name: 'disk full',
    async strike(random) {
      disk.fill();
      await pause(random, awhile);
      disk.free();
    },
  };
  return field.rig({
    servers,
    faults: [
      killed('server killed', servers),
      killed('server killed', servers),
      killedTimeAndAgain('server killed four times', servers),
      frozen('server frozen', servers),
      endedInOrder('server ended in order', servers),
      clockStepped('clock of the server stepped', servers),
      full,
      killedOnFullDisk('server killed on a full disk', servers),
      cutFromClients(field, servers),
    ],
  });
}
